/** A scheduler that is asked once a minute, whatever is armed. A beat may be left out, or come twice. */
import type { Alarm } from "../../../src/core/ports.ts";
import type { Happening, Source } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Ground } from "./outside.ts";

const minuteMs = 60_000;

export class Cron implements Source {
  readonly #ground: Ground;
  #rangAt = Number.NEGATIVE_INFINITY;
  #isTwice = false;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** A beat rings anyway. */
  readonly alarm: Alarm = async () => {};

  /** It rings within every minute. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    return [{ at: now, ringsAt: now, isRinging: true, isUnarmed: true }];
  }

  happenings(): readonly Happening[] {
    const at = this.#beatAt();
    return (at !== undefined && at <= this.#ground.now()) || this.#isTwice
      ? [{ what: () => "the cron rings", act: () => this.#ring() }]
      : [];
  }

  next(): number | undefined {
    const at = this.#beatAt();
    return at === undefined ? undefined : this.#ground.timeOf(at);
  }

  lose(): void {}

  /** Where nothing is due its beats would find nothing, so they are left out. */
  #beatAt(): number | undefined {
    const dueAt = this.#ground.dueAt();
    if (dueAt === undefined) return undefined;
    return Math.max(this.#rangAt + minuteMs, Math.ceil(dueAt / minuteMs) * minuteMs);
  }

  #ring(): void {
    const { now, below, processes, tick } = this.#ground;
    this.#isTwice = !this.#isTwice && below(20) === 0;
    this.#rangAt = Math.floor(now() / minuteMs) * minuteMs;
    if (below(20) === 0) return; // nobody came
    const all = processes();
    const process = all[below(all.length)];
    if (process !== undefined) tick(process).catch(() => {});
  }
}
