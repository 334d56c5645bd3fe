/**
 * What a process remembers of keys and callbacks for which nothing can change any more: a key that was revoked, a callback
 * that was answered. Whoever comes with one again is told so without a statement. It is bounded: the oldest is forgotten
 * first, and then the database is asked again.
 */
import type { CallbackView } from "../client/answering.ts";

export interface Remembered {
  /** By the key's id. */
  readonly revokedKeys: BoundedMap<true>;
  /** By the callback's token. */
  readonly answeredCallbacks: BoundedMap<CallbackView>;
}

/** An id is 36 bytes, a token some 150. */
const most = 10_000;

export function newRemembered(): Remembered {
  return { revokedKeys: new BoundedMap(most), answeredCallbacks: new BoundedMap(most) };
}

/** A map that forgets what was put into it first. */
export class BoundedMap<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest);
  }
}
