/**
 * How armed instants become ticks in processes that live on: by timers, which die with their process, and which ring again
 * where the tick failed.
 */
import type { Alarm } from "../../../src/core/ports.ts";
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Ground } from "./outside.ts";

interface Bell extends StandingAlarm {
  tries: number;
}

/** Milliseconds after which an alarm rings again whose tick failed or died, one for each try. As Ticker has it. */
const againMs = [1_000, 2_000, 4_000];
const longestAgainMs = 5_000;

export class Bells implements Source {
  readonly #ground: Ground;
  #bells: Bell[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  readonly alarm: Alarm = async (instants) => {
    const now = this.#ground.now();
    for (const { at, inMs } of instants) {
      // What the database's clock is off, as far as the process knows; news of the time is late by less than a second.
      const offMs = Math.round((at - inMs - now) / 1_000) * 1_000;
      const ringsAt = Math.ceil(at - offMs);
      if (!this.#bells.some((bell) => bell.at === ringsAt && !bell.isRinging)) this.#hang(ringsAt);
    }
  };

  standing(): readonly StandingAlarm[] {
    return this.#bells;
  }

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    return this.#bells
      .filter(({ ringsAt, isRinging }) => !isRinging && ringsAt <= now)
      .map((bell) => ({
        what: () =>
          `${bell.isUnarmed ? "a sweep" : `the alarm for ${new Date(bell.at).toISOString().slice(11, 19)}`} rings`,
        act: () => this.#ring(bell),
      }));
  }

  next(): number | undefined {
    const at = earliest(this.#bells.map(({ ringsAt, isRinging }) => (isRinging ? undefined : ringsAt)));
    return at === undefined ? undefined : this.#ground.timeOf(at);
  }

  /** The process died, and its timers with it. */
  lose(): void {
    this.#bells = [];
  }

  /** Rings for a tick that nobody armed, in a while, unless such a ring is to come already. */
  ringIn(ms: number): void {
    if (!this.#bells.some(({ isUnarmed }) => isUnarmed)) this.#hang(this.#ground.now() + ms, { isUnarmed: true });
  }

  #hang(at: number, { isUnarmed = false } = {}): void {
    // A process that rings by itself knows the time before, and so does its tick.
    const readyUntil = Number.POSITIVE_INFINITY;
    const bell = { at, ringsAt: at, isRinging: false, tries: 0, readyUntil };
    this.#bells.push({ ...bell, ...(isUnarmed && { isUnarmed }) });
  }

  #ring(bell: Bell): void {
    const processes = this.#ground.processes();
    const process = processes[this.#ground.below(processes.length)];
    if (process === undefined) {
      bell.ringsAt += 1_000;
      return;
    }
    bell.isRinging = true;
    this.#ground.tick(process).then(
      () => {
        this.#bells = this.#bells.filter((other) => other !== bell);
      },
      () => this.#again(bell),
    );
  }

  #again(bell: Bell): void {
    bell.isRinging = false;
    bell.ringsAt = this.#ground.now() + (againMs[bell.tries] ?? longestAgainMs);
    bell.tries += 1;
  }
}
