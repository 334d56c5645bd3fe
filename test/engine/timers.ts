/** The timers of one process, on time that passes only when the world says so. */
import type { HostClock } from "../../src/core/ports.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

export class Timers implements HostClock {
  readonly #time: () => number;
  readonly #skewMs: number;
  #timers: Timer[] = [];
  #order = 0;

  /** `time`: the world's, in milliseconds; the process believes that it is `skewMs` later. */
  constructor(time: () => number, skewMs = 0) {
    this.#time = time;
    this.#skewMs = skewMs;
  }

  monotonic(): number {
    return this.#time() + this.#skewMs;
  }

  after(ms: number, act: () => void): () => void {
    const timer = { at: Math.ceil(this.#time() + Math.max(0, ms)), order: this.#order++, act };
    this.#timers.push(timer);
    return () => this.#remove(timer);
  }

  /** When the next one fires. */
  get next(): number | undefined {
    return this.#first()?.at;
  }

  /** Fires the first one that is due. */
  fire(): void {
    const first = this.#first();
    if (first === undefined || first.at > this.#time()) return;
    this.#remove(first);
    first.act();
  }

  clear(): void {
    this.#timers = [];
  }

  #first(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (first, timer) =>
        first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order)
          ? timer
          : first,
      undefined,
    );
  }

  #remove(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }
}
