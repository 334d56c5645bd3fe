/**
 * The alarms that this process has armed outside Postgres. An instant stays armed until it rings, so arming it again
 * costs nothing. A run in motion arms about once a minute.
 */
import { LayoverError } from "../core/errors.ts";
import type { Alarm, HostClock } from "../core/ports.ts";
import { within } from "../core/waits.ts";
import { armMs, instantsToArm, type Pace, punctual } from "../core/waking.ts";
import type { DatabaseClock } from "./database-clock.ts";

interface Standing {
  /** When it rings, by the host's monotonic clock, since the database's clock may be set meanwhile. */
  readonly ringsAt: number;
  readonly armed: Promise<void>;
}

export interface AlarmsOptions {
  readonly alarm: Alarm;
  readonly clock: DatabaseClock;
  readonly host: HostClock;
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. Default: no. */
  readonly isBeat?: boolean | undefined;
  /** How exact the alarm is. Default: it rings at the beginning of its minute, or sooner. */
  readonly pace?: Pace | undefined;
}

export class Alarms {
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. */
  readonly isBeat: boolean;
  /** How exact the alarm and the delayed dispatches of this host are. */
  readonly pace: Pace;
  readonly #alarm: Alarm;
  readonly #clock: DatabaseClock;
  readonly #host: HostClock;
  readonly #standing = new Map<number, Standing>();

  constructor({ alarm, clock, host, isBeat = false, pace = punctual }: AlarmsOptions) {
    this.isBeat = isBeat;
    this.pace = pace;
    this.#alarm = alarm;
    this.#clock = clock;
    this.#host = host;
  }

  /** Arms what a call that takes effect by `notAfter` may rely on, and answers those instants. */
  armFor(notAfter: number, wakeInstants: readonly number[]): Promise<readonly number[]> {
    const { isBeat, pace } = this;
    return this.arm(instantsToArm(wakeInstants, { now: this.#clock.now(), notAfter, isBeat, pace }));
  }

  /**
   * Arms by a guess of the database's time, while that is asked for. Nothing counts on it: what a call relies on is armed
   * by the answer, and the alarm may remember then what it has armed. So a guess that fails does no harm.
   */
  async armByGuess(now: number, notAfter: number, wakeInstants: readonly number[]): Promise<void> {
    const { isBeat, pace } = this;
    const instants = [...new Set(instantsToArm(wakeInstants, { now, notAfter, isBeat, pace }))];
    const set = instants.map((at) => ({ at, inMs: Math.max(0, at - now) }));
    await within(this.#host, armMs, this.#alarm(set), noAnswer).catch(() => {});
  }

  /**
   * Treats alarms that ring within so many milliseconds as rung, so that they are armed anew when they are needed. The
   * clock of the host that rings may be ahead of this one's.
   */
  forgetWithin(ms: number): void {
    const through = this.#host.monotonic() + ms;
    for (const [at, { ringsAt }] of this.#standing) if (ringsAt <= through) this.#standing.delete(at);
  }

  /**
   * Arms each instant that is not armed yet. Resolves once all of them are armed.
   *
   * @throws LayoverError `no_answer`, if arming takes longer than 30 s
   */
  async arm(instants: readonly number[]): Promise<readonly number[]> {
    this.forgetWithin(0);
    const wanted = [...new Set(instants)];
    this.#set(wanted.filter((at) => !this.#standing.has(at)));
    await Promise.all(wanted.map((at) => this.#standing.get(at)?.armed));
    return wanted;
  }

  /**
   * Arms everything anew when the database's clock was set: all alarms would ring at a wrong time. A tick follows soon,
   * for what other processes have armed.
   */
  async rearm(): Promise<void> {
    const standing = [...this.#standing.keys()];
    this.#standing.clear();
    await this.arm([this.#clock.now(), ...standing]);
  }

  #set(instants: readonly number[]): void {
    if (instants.length === 0) return;
    const now = this.#clock.now();
    const set = instants.map((at) => ({ at, inMs: Math.max(0, at - now) }));
    const armed = within(this.#host, armMs, this.#alarm(set), noAnswer);
    const since = this.#host.monotonic();
    for (const { at, inMs } of set) this.#standing.set(at, { ringsAt: since + inMs, armed });
    armed.catch(() => {
      for (const at of instants) if (this.#standing.get(at)?.armed === armed) this.#standing.delete(at);
    });
  }
}

function noAnswer(): LayoverError {
  return new LayoverError("no_answer", `arming an alarm was not answered within ${armMs / 1_000} seconds`, {
    hint: "Nothing was sent to the database. Try again. If this goes on, check the platform that keeps the alarms.",
  });
}
