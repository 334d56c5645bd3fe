/**
 * Has ticks happen in one process, one at a time: at its start, when an alarm rings, when somebody asks; and rarely
 * unasked (a sweep), in case an alarm was lost.
 */
import type { TickAnswer } from "../engine/tick.ts";

export interface TickerOptions {
  /** `isNew`: no tick of this process has succeeded yet. */
  readonly tick: (options: { readonly isNew: boolean }) => Promise<TickAnswer>;
  /** Whether a tick that failed has armed the next one. */
  readonly isArmed: () => boolean;
  readonly onError: (error: unknown, doing: string) => void;
}

const sweepMs = 6 * 3_600_000;
const retryMs = 60_000;

export class Ticker {
  readonly #options: TickerOptions;
  readonly #sweeps: NodeJS.Timeout;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<TickAnswer> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #rings = 0;
  #isNew = true;
  #isClosed = false;

  constructor(options: TickerOptions) {
    this.#options = options;
    this.#sweeps = setInterval(() => void this.#sweep(), sweepMs);
    this.#sweeps.unref();
  }

  /** Resolves when a tick that began after this call has ended; rejects if it failed. Another one is to come then. */
  async tick(): Promise<TickAnswer> {
    this.#rings += 1;
    return await this.#tickNext();
  }

  /** Has a tick happen, and reports if it fails. */
  readonly ring = (): void => {
    this.tick().catch((error: unknown) => {
      if (!this.#isClosed) this.#options.onError(error, "ticking");
    });
  };

  /** Begins no more ticks; resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeps);
    clearTimeout(this.#retry);
    await this.#last;
  }

  /** However many ask while a tick is under way, one more follows it. */
  #tickNext(): Promise<TickAnswer> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      const ticking = this.#tick();
      this.#last = ticking.catch(() => {});
      return ticking;
    });
    return this.#next;
  }

  async #tick(): Promise<TickAnswer> {
    if (this.#isClosed) return { isOurs: true, due: 0, dispatched: 0, isNew: false };
    try {
      const answer = await this.#options.tick({ isNew: this.#isNew });
      if (answer.isOurs) this.#isNew = false;
      return answer;
    } catch (error) {
      if (!this.#options.isArmed()) {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(this.ring, retryMs).unref();
      }
      throw error;
    }
  }

  async #sweep(): Promise<void> {
    const { onError } = this.#options;
    const isAwaited = this.#next !== undefined;
    const ringsBefore = this.#rings;
    try {
      const { due } = await this.#tickNext();
      if (due > 0 && !isAwaited && this.#rings === ringsBefore) onError(new Error(unarmed(due)), "sweeping");
    } catch (error) {
      onError(error, "sweeping");
    }
  }
}

function unarmed(due: number): string {
  const runs = due === 1 ? "1 run was" : `${due} runs were`;
  return `${runs} due, and no alarm of this process rang for it: an alarm was lost, or SQL or another process moved it and nobody called wake()`;
}
