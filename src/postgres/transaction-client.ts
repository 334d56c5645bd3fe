/** What the body of a `step.transaction` is given. It sends nothing more once the body has ended. */
import type { TransactionClient } from "../core/ports.ts";

type Answer = Awaited<ReturnType<TransactionClient["query"]>>;

export class OpenTransaction implements TransactionClient {
  readonly #send: (text: string, values: unknown[]) => Promise<Answer>;
  #isOpen = true;
  #underWay = 0;

  constructor(send: (text: string, values: unknown[]) => Promise<Answer>) {
    this.#send = send;
  }

  /** Whether no statement of the body is under way. */
  get isAtRest(): boolean {
    return this.#underWay === 0;
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Answer> {
    if (!this.#isOpen) throw new Error("the transaction is over, so nothing more is sent in it");
    this.#underWay += 1;
    try {
      return await this.#send(text, [...values]);
    } finally {
      this.#underWay -= 1;
    }
  }

  close(): void {
    this.#isOpen = false;
  }
}
