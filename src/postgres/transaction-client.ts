/** What the body of a `step.transaction` is given. It takes nothing more once the body has ended. */
import type { TransactionClient } from "../core/ports.ts";

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

type Answer = Awaited<ReturnType<TransactionClient["query"]>>;

export class OpenTransaction implements TransactionClient {
  readonly #send: (text: string, values: unknown[]) => Promise<Answer>;
  readonly #writes: Statement[] = [];
  #isOpen = true;
  #underWay = 0;

  constructor(send: (text: string, values: unknown[]) => Promise<Answer>) {
    this.#send = send;
  }

  /** Whether no statement of the body is under way. */
  get isAtRest(): boolean {
    return this.#underWay === 0;
  }

  write(text: string, values: readonly unknown[] = []): void {
    this.#checkOpen();
    this.#writes.push({ text, values });
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Answer> {
    this.#checkOpen();
    this.#underWay += 1;
    try {
      await this.flush();
      return await this.#send(text, [...values]);
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Sends what was written and not sent yet. */
  async flush(): Promise<void> {
    for (const { text, values } of this.takeWrites()) await this.#send(text, [...values]);
  }

  /** Takes out what was written and not sent yet, in order. */
  takeWrites(): readonly Statement[] {
    return this.#writes.splice(0);
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw new Error("the transaction is over, so nothing more is sent in it");
  }

  close(): void {
    this.#isOpen = false;
  }
}
