/** Acts that are carried out after a while, on a clock that may be somebody else's, unless everything is closed before. */
import type { WallClock } from "../../src/core/ports.ts";

/** The longest time that a timer of Node's can wait. */
const longestTimerMs = 2 ** 31 - 1;

export class Delays {
  readonly #clock: WallClock;
  readonly #cancels = new Set<() => void>();
  isClosed = false;

  constructor(clock: WallClock) {
    this.#clock = clock;
  }

  after(ms: number, act: () => void): void {
    const isFar = ms > longestTimerMs;
    const cancel = this.#clock.after(Math.max(0, isFar ? longestTimerMs : ms), () => {
      this.#cancels.delete(cancel);
      if (this.isClosed) return;
      if (isFar) this.after(ms - longestTimerMs, act);
      else act();
    });
    this.#cancels.add(cancel);
  }

  close(): void {
    this.isClosed = true;
    for (const cancel of this.#cancels) cancel();
  }
}
