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

/**
 * Waits for `work`, but no longer than `ms`: then it rejects with what `late` makes; with the signal's reason when that
 * aborts. The work itself cannot be stopped, so nobody hears of it any more. Without `ms` it waits as long as that takes.
 */
export function within<Result>(
  host: HostClock,
  ms: number | undefined,
  work: Promise<Result>,
  late: () => Error,
  abortSignal?: AbortSignal,
): Promise<Result> {
  // On the path of every statement: 0.5 µs; by a race of two promises 0.8.
  return new Promise((resolve, reject) => {
    const stop = ms === undefined ? () => {} : host.after(ms, () => fail(late()));
    const abort = () => fail(abortSignal?.reason);
    const end = () => {
      stop();
      abortSignal?.removeEventListener("abort", abort);
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    abortSignal?.addEventListener("abort", abort, { once: true });
    if (abortSignal?.aborted) abort();
    work.then((result) => {
      end();
      resolve(result);
    }, fail);
  });
}

/** An answer that is further off than this from what was expected tells that the database's clock was set. */
const stepMs = 1_000;

export class DatabaseClock {
  readonly #host: HostClock;
  #learned: { readonly now: number; readonly at: number } | undefined;
  /** When the last step was noticed. An answer to a question from before tells nothing. */
  #steppedAt = Number.NEGATIVE_INFINITY;

  constructor(host: HostClock) {
    this.#host = host;
  }

  get isKnown(): boolean {
    return this.#learned !== undefined;
  }

  /**
   * Takes over the time that an answer tells. `sentAt`: when the question was sent, by the host's monotonic clock; the
   * answer's time lies between then and now. True: the database's clock was set, as a failover may do, so whatever was
   * reckoned from it before is wrong.
   */
  learn(now: number, sentAt = this.#host.monotonic()): boolean {
    if (sentAt < this.#steppedAt) return false;
    const at = this.#host.monotonic();
    const known = this.#learned !== undefined;
    // What fits is kept: an answer that was long under way would tell less.
    if (known && now >= this.#reckon(sentAt) && now <= this.#reckon(at)) return false;
    const isStep = known && (now < this.#reckon(sentAt) - stepMs || now > this.#reckon(at) + stepMs);
    this.#learned = { now, at };
    if (isStep) this.#steppedAt = at;
    return isStep;
  }

  /**
   * The database's time in epoch milliseconds, late by what the network took. Throws before the first answer.
   */
  now(): number {
    return Math.floor(this.#reckon(this.#host.monotonic()));
  }

  /** What the database's clock shows at an instant of the host's. */
  #reckon(at: number): number {
    if (this.#learned === undefined) throw new Error("the database's time was not asked yet");
    return this.#learned.now + (at - this.#learned.at);
  }
}
