/** Puts values into the user's store and gets them, a few at a time, each within its time. */
import { QueryError } from "../../core/ports.ts";
import { digestOf, type Reference } from "./reference.ts";
import type { ValueStore } from "./value-store.ts";

const mostAtOnce = 4;

export class Keeper {
  readonly #store: ValueStore;
  readonly #timeoutMs: number;
  readonly #waiting: (() => void)[] = [];
  #free = mostAtOnce;

  constructor(store: ValueStore, timeoutMs: number) {
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws QueryError if the store does not take it: the call that needs it is not sent, and comes again */
  async put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#within("did not take a value", (signal) => this.#store.put(key, bytes, signal));
  }

  /** Answers the text, or why it cannot be read. @throws QueryError if the store does not answer */
  async get({ key, bytes, digest }: Reference): Promise<{ readonly text: string } | { readonly why: string }> {
    const got = await this.#within("did not answer a value", (signal) => this.#store.get(key, signal));
    if (got === undefined) return { why: `the store has nothing under ${JSON.stringify(key)}` };
    const own = new Uint8Array(got);
    if (own.length !== bytes || (await digestOf(own)) !== digest)
      return { why: `what the store has under ${JSON.stringify(key)} is not what was put there` };
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(own) };
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#within("did not delete values", (signal) => this.#store.delete(keys, signal));
  }

  async #within<Result>(what: string, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    while (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#free -= 1;
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      const over = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      return await Promise.race([call(signal), over]);
    } catch (cause) {
      throw new QueryError(`the store ${what}`, { isRolledBack: true, cause });
    } finally {
      this.#free += 1;
      this.#waiting.shift()?.();
    }
  }
}
