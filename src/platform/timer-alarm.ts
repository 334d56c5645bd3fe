/** Alarms as timers of this process. They are gone with it: a process that begins ticks once, which arms them anew. */

/** `setTimeout` fires at once beyond 2^31 - 1 ms, so long waits go in days. */
const longestTimerMs = 86_400_000;

export class TimerAlarm {
  readonly #ring: () => void;
  readonly #timers = new Map<number, NodeJS.Timeout>();

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  readonly arm = async (instants: readonly { readonly at: number; readonly inMs: number }[]): Promise<void> => {
    for (const { at, inMs } of instants) {
      if (!this.#timers.has(at)) this.#set(at, performance.now() + inMs);
    }
  };

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #set(at: number, ringsAt: number): void {
    const leftMs = ringsAt - performance.now();
    const timer = setTimeout(
      () => {
        if (ringsAt - performance.now() > 1) return this.#set(at, ringsAt);
        this.#timers.delete(at);
        this.#ring();
      },
      Math.min(Math.max(leftMs, 0), longestTimerMs),
    );
    timer.unref();
    this.#timers.set(at, timer);
  }
}
