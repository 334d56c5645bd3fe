/** One-shot schedules of AWS, which fire at any instant of their minute or never, and whose names live on. */
import { minuteMs } from "../../../src/core/waking.ts";
import type { OneShot } from "../../../src/platform/lambda/aws/schedule.ts";
import { readTickEvent } from "../../../src/platform/lambda/messages.ts";
import type { Happening } from "../../engine/course.ts";
import type { Ground } from "./outside.ts";

interface Schedule {
  readonly oneShot: OneShot;
  readonly firesAt: number;
}

/** One schedule in so many never fires. */
const silent = 200;
/** How long the name of a schedule lives on after it has fired. */
const longestNameMs = 5 * minuteMs;

interface AwsSchedulesOptions {
  readonly ground: Ground;
  /** Invokes the function `tick`. */
  readonly tick: (event: string) => void;
  /** A schedule never fires. */
  readonly giveUp: () => void;
  /** A tick that failed comes again at this instant. */
  readonly outlast: (at: number) => void;
}

export class AwsSchedules {
  readonly #options: AwsSchedulesOptions;
  /** The schedules by their names. One that has fired keeps its name for a while. */
  readonly #schedules = new Map<string, Schedule>();
  readonly #names = new Map<string, number>();

  constructor(options: AwsSchedulesOptions) {
    this.#options = options;
  }

  get standing(): readonly Schedule[] {
    return [...this.#schedules.values()];
  }

  happenings(): readonly Happening[] {
    const now = this.#options.ground.now();
    return this.standing
      .filter(({ firesAt }) => firesAt <= now)
      .map((schedule) => ({
        what: () => `the schedule ${schedule.oneShot.name} fires`,
        act: () => this.#fire(schedule),
      }));
  }

  add(oneShot: OneShot): "created" | "exists" {
    const { below, now } = this.#options.ground;
    const { name, at, input } = oneShot;
    if (at <= now()) throw Object.assign(new Error("the schedule is in the past"), { name: "ValidationException" });
    if (this.#schedules.has(name) || (this.#names.get(name) ?? 0) > now()) return "exists";
    const firesAt = at + below(minuteMs);
    this.#schedules.set(name, { oneShot, firesAt });
    if (readTickEvent(JSON.parse(input)).tries !== undefined) this.#options.outlast(firesAt);
    return "created";
  }

  #fire(schedule: Schedule): void {
    const { below, now } = this.#options.ground;
    const { oneShot } = schedule;
    this.#schedules.delete(oneShot.name);
    this.#names.set(oneShot.name, now() + below(longestNameMs));
    if (below(silent) === 0) {
      this.#options.giveUp();
      return;
    }
    this.#options.tick(oneShot.input);
  }
}
