/** Alarms as timers of this process. They are gone with it: a process that begins ticks once, which arms them anew. */
import { timerMs } from "../../../core/waking.ts";

/** `setTimeout` fires at once beyond 2^31 - 1 ms, so long waits go in days. */
const longestTimerMs = 86_400_000;

export class TimerAlarm {
  readonly #ring: () => void;
  readonly #timers = new Map<number, NodeJS.Timeout>();
  #isClosed = false;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /**
   * Arms instants. An instant that is armed already is armed anew: its distance changes when the database's clock is
   * set.
   */
  readonly arm = async (instants: readonly { readonly at: number; readonly inMs: number }[]): Promise<void> => {
    if (this.#isClosed) return;
    for (const { at, inMs } of instants) {
      clearTimeout(this.#timers.get(at));
      this.#set(at, performance.now() + timerMs(inMs));
    }
  };

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Sets a timer. Timers do not keep the process alive: the next process carries out what they would ring for. */
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
