/**
 * Limits how many requests of one kind are answered at once. The others wait in line, and leave it when their client
 * goes away. Without the limit, one API key could keep every connection of the pool busy with long lists.
 */
export class Lane {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #busy = 0;

  /** @param most how many may be answered at once */
  constructor(most: number) {
    this.#most = most;
  }

  /** Does the work when there is room. Rejects with the signal's reason if that aborts before the work begins. */
  async run<Result>(work: () => Promise<Result>, abortSignal: AbortSignal): Promise<Result> {
    abortSignal.throwIfAborted();
    if (this.#busy < this.#most) this.#busy += 1;
    else await this.#waitForPlace(abortSignal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Waits until somebody leaves, and takes that place. */
  async #waitForPlace(abortSignal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const give = () => resolve();
    const giveUp = () => {
      if (this.#waiting.delete(give)) reject(abortSignal.reason);
    };
    this.#waiting.add(give);
    abortSignal.addEventListener("abort", giveUp, { once: true });
    try {
      await promise;
    } finally {
      abortSignal.removeEventListener("abort", giveUp);
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#busy -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
