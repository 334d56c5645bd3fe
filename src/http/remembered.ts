/**
 * What a process remembers of keys and callbacks that cannot change any more: revoked keys and answered callbacks.
 * Whoever comes with one again is answered without a statement. The memory is limited: the oldest entry is forgotten
 * first, and after that the database is asked again.
 */
import type { CallbackView } from "../client/mail.ts";

export interface Remembered {
  /** The revoked keys, by their ids. */
  readonly revokedKeys: BoundedMap<true>;
  /** The answered callbacks, by their tokens. */
  readonly answeredCallbacks: BoundedMap<CallbackView>;
}

/** How many entries are remembered. An id has 36 bytes, a token some 150. */
const most = 10_000;

export function newRemembered(): Remembered {
  return { revokedKeys: new BoundedMap(most), answeredCallbacks: new BoundedMap(most) };
}

/** A map that forgets the oldest entry first. */
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
