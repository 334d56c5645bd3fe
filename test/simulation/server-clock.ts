/** The clock of the database: it is set now and then, as a failover to a server with another clock does it. */
import type { Source } from "../engine/course.ts";
import type { Scenario } from "./scenario.ts";

type Step = Scenario["clockSteps"][number];

export interface ServerClockOptions {
  readonly steps: readonly Step[];
  /** The world's time. */
  readonly time: () => number;
  /** Sets the clock of Postgres to this instant. */
  readonly set: (at: number) => Promise<void>;
  /** The instant at which the world began. */
  readonly beginning: number;
}

export class ServerClock implements Source {
  readonly #options: ServerClockOptions;
  readonly #left: Step[];
  /** How far it is ahead of the world's clock. */
  offMs = 0;
  /** How much it was set in all, and how much of that ahead. */
  steppedMs = 0;
  setAheadMs = 0;
  /** When it was set the last time; the world's time. */
  steppedAt = 0;
  /** The latest time that it has shown, at the times when somebody looked. */
  latest = 0;

  constructor(options: ServerClockOptions) {
    this.#options = options;
    this.#left = [...options.steps];
  }

  /** What it shows. */
  get now(): number {
    const { beginning, time } = this.#options;
    return beginning + time() + this.offMs;
  }

  turn(): Promise<void> {
    return this.#options.set(this.now);
  }

  /** Answers what it shows, and remembers that somebody saw it. */
  read(): number {
    const { now } = this;
    this.latest = Math.max(this.latest, now);
    return now;
  }

  happenings() {
    const [step] = this.#left;
    if (step === undefined || step.atMs > this.#options.time()) return [];
    return [{ what: () => `the database's clock is set by ${step.byMs / 1_000} s`, act: () => this.#step() }];
  }

  next(): number | undefined {
    return this.#left[0]?.atMs;
  }

  async #step(): Promise<void> {
    const step = this.#left.shift();
    if (step === undefined) return;
    this.offMs += step.byMs;
    this.steppedMs += Math.abs(step.byMs);
    this.setAheadMs += Math.max(0, step.byMs);
    this.steppedAt = this.#options.time();
    await this.turn();
  }
}
