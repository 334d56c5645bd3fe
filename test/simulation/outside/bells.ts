/**
 * How armed instants become ticks: rounded up to a minute, late, again where the tick failed or died, and at last given
 * up. What is given up is found by the sweep.
 */
import type { Alarm } from "../../../src/core/ports.ts";
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Process } from "../../engine/process.ts";
import type { Ground } from "./outside.ts";

export interface BellRules {
  /** Instants are rounded up to a multiple of this, in milliseconds. */
  readonly roundMs: number;
  readonly lateMs: number;
  /** Milliseconds after which an alarm rings again whose tick failed or died, one for each try. */
  readonly againMs: readonly number[];
  /** Whether an alarm is given up after its last try. Otherwise it rings on at that pace. */
  readonly areGivenUp: boolean;
  /** Whether alarms have names. One that rings keeps its name, so a new alarm for that minute takes the next minute. */
  readonly isNamed: boolean;
  /** Whether alarms die with the process that armed them. Its successor begins with a tick. */
  readonly areInMemory: boolean;
  /** Milliseconds from one sweep to the next. A sweep looks for alarms that were given up. */
  readonly sweepMs: number;
}

interface Bell extends StandingAlarm {
  tries: number;
  /** The instant that the alarm carries: of the database's clock when it rings, as its process believed. */
  readonly carried?: number | undefined;
}

export class Bells implements Source {
  readonly #rules: BellRules;
  readonly #ground: Ground;
  readonly #ringing = new Map<Bell, Process>();
  #bells: Bell[] = [];
  /** When the sweep comes that finds the alarm which was given up last. Undefined: none was given up. */
  sweptAt: number | undefined;

  constructor(rules: BellRules, ground: Ground) {
    this.#rules = rules;
    this.#ground = ground;
  }

  get areInMemory(): boolean {
    return this.#rules.areInMemory;
  }

  readonly alarm: Alarm = async (instants) => {
    const { roundMs, isNamed } = this.#rules;
    const now = this.#ground.now();
    for (const { at, inMs } of instants) {
      // What the database's clock is off, as far as the process knows; news of the time is late by less than a second.
      const offMs = Math.round((at - inMs - now) / 1_000) * 1_000;
      let minute = Math.ceil((at - offMs) / roundMs) * roundMs;
      const holder = this.#bells.find((bell) => bell.at === minute && bell.isUnarmed !== true);
      if (holder !== undefined && !holder.isRinging) continue;
      if (holder !== undefined && isNamed) minute += roundMs;
      if (this.#bells.some((bell) => bell.at === minute && !bell.isRinging)) continue;
      this.#hang(minute, minute + this.#ground.below(this.#rules.lateMs + 1), { carried: minute + offMs });
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

  lose(process: Mortal): void {
    for (const [bell, owner] of this.#ringing) if (owner === process) this.#again(bell);
    if (this.#rules.areInMemory) this.#bells = [];
  }

  /** Rings for a tick that nobody armed, now and again until it has succeeded. */
  ringOnce(): void {
    this.#hang(this.#ground.now(), this.#ground.now(), { isUnarmed: true });
  }

  /** Rings for a tick that nobody armed, in a while, unless such a ring is to come already. */
  ringIn(ms: number): void {
    if (this.#bells.some(({ isUnarmed }) => isUnarmed)) return;
    const at = this.#ground.now() + ms;
    this.#hang(at, at, { isUnarmed: true });
  }

  #hang(
    at: number,
    ringsAt: number,
    { carried, isUnarmed = false }: { readonly carried?: number; readonly isUnarmed?: boolean },
  ): void {
    // A process that rings by itself knows the time before, and so does its tick.
    const readyUntil = this.#rules.areInMemory ? Number.POSITIVE_INFINITY : carried;
    this.#bells.push({ at, ringsAt, isRinging: false, tries: 0, carried, readyUntil, ...(isUnarmed && { isUnarmed }) });
  }

  #ring(bell: Bell): void {
    const processes = this.#ground.processes();
    const process = processes[this.#ground.below(processes.length)];
    if (process === undefined) {
      bell.ringsAt += 1_000;
      return;
    }
    bell.isRinging = true;
    this.#ringing.set(bell, process);
    this.#ground.tick(process, bell.carried).then(
      () => this.#end(bell),
      () => this.#again(bell),
    );
  }

  #end(bell: Bell): void {
    this.#ringing.delete(bell);
    this.#bells = this.#bells.filter((other) => other !== bell);
  }

  #again(bell: Bell): void {
    this.#ringing.delete(bell);
    bell.isRinging = false;
    const { againMs, areGivenUp, sweepMs } = this.#rules;
    const pauseMs = againMs[bell.tries] ?? (areGivenUp ? undefined : againMs.at(-1));
    bell.tries += 1;
    if (pauseMs !== undefined) {
      bell.ringsAt = this.#ground.now() + pauseMs;
      return;
    }
    this.#end(bell);
    const at = Math.ceil((this.#ground.now() + 1) / sweepMs) * sweepMs;
    this.sweptAt = at;
    if (!this.#bells.some(({ isUnarmed }) => isUnarmed)) this.#hang(at, at, { isUnarmed: true });
  }
}
