/** A body for steps, which notes when each step called it. */

import type { Body } from "./contender.ts";

export class Stopwatch {
  readonly startedAtMs: number[] = [];

  readonly body: Body = (step) => {
    this.startedAtMs.push(performance.now());
    return step;
  };

  /** Fails unless each step's body was called exactly once: a contender that skips or repeats is not compared. */
  expect(steps: number): void {
    if (this.startedAtMs.length !== steps) {
      throw new Error(`Of ${steps} steps, ${this.startedAtMs.length} were carried out.`);
    }
  }

  /** Milliseconds from the start of each step to the start of the next one. */
  get hopsMs(): readonly number[] {
    return this.startedAtMs.slice(1).map((at, previous) => at - (this.startedAtMs[previous] ?? at));
  }
}
