/**
 * What time the database has. It alone owns the clock; a process learns the time from every answer and counts on
 * from there by its own monotonic clock, so a host whose wall clock is wrong does no harm.
 */

/** The host's own sense of time, and the only way to wait. Tests turn it by hand. */
export interface HostClock {
  /** Milliseconds since some fixed moment; never goes back. */
  monotonic(): number;
  /** Runs `act` after `ms`, unless the function that it answers is called before. */
  after(ms: number, act: () => void): () => void;
}

export const hostClock: HostClock = {
  monotonic: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Rejects with the signal's reason when that aborts. */
export async function pause(host: HostClock, ms: number, abortSignal?: AbortSignal): Promise<void> {
  abortSignal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = host.after(ms, resolve);
  const abort = () => reject(abortSignal?.reason);
  abortSignal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    end();
    abortSignal?.removeEventListener("abort", abort);
  }
}

export class DatabaseClock {
  readonly #host: HostClock;
  #learned: { readonly now: number; readonly at: number } | undefined;

  constructor(host: HostClock) {
    this.#host = host;
  }

  get isKnown(): boolean {
    return this.#learned !== undefined;
  }

  learn(now: number): void {
    this.#learned = { now, at: this.#host.monotonic() };
  }

  /**
   * The database's time in epoch milliseconds, late by what the network took. Throws before the first answer.
   */
  now(): number {
    if (this.#learned === undefined) throw new Error("the database's time was not asked yet");
    return Math.floor(this.#learned.now + (this.#host.monotonic() - this.#learned.at));
  }
}
