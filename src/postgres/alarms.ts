/**
 * What this process has armed outside Postgres. An instant stays armed until it rings, so arming it again costs
 * nothing, and a step in motion arms about once a minute.
 */
import { LayoverError } from "../core/errors.ts";
import { lookFor, motionMinute } from "../core/motion.ts";
import type { Alarm } from "../core/ports.ts";
import { type DatabaseClock, type HostClock, within } from "./clock.ts";

/** From a call's limit to its COMMIT we assume no more than this. */
const commitMs = 30_000;

/** How long arming may take. More than all the tries of a Durable Object that hangs (see alarm-shards.ts). */
const armMs = 30_000;

interface Standing {
  /** When it rings, by the host's monotonic clock. The database's clock may be set meanwhile. */
  readonly ringsAt: number;
  readonly armed: Promise<void>;
}

export interface AlarmsOptions {
  readonly alarm: Alarm;
  readonly clock: DatabaseClock;
  readonly host: HostClock;
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. Default: no. */
  readonly isBeat?: boolean | undefined;
}

export class Alarms {
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. */
  readonly isBeat: boolean;
  readonly #alarm: Alarm;
  readonly #clock: DatabaseClock;
  readonly #host: HostClock;
  readonly #standing = new Map<number, Standing>();

  constructor({ alarm, clock, host, isBeat = false }: AlarmsOptions) {
    this.isBeat = isBeat;
    this.#alarm = alarm;
    this.#clock = clock;
    this.#host = host;
  }

  /**
   * Arms what a call that takes effect by `notAfter` may lean on, and answers those instants: the motion minute, and for
   * deadlines the looks that cannot ring before the commit they serve. After a beat that did there comes another one, so
   * there each deadline to come counts.
   */
  armFor(notAfter: number, deadlines: readonly number[]): Promise<readonly number[]> {
    const now = this.#clock.now();
    const earliest = this.isBeat ? now : notAfter + commitMs;
    const looks = deadlines.filter((at) => at > earliest).map((at) => (this.isBeat ? at : lookFor(at, now)));
    return this.arm([motionMinute(now), ...looks]);
  }

  /**
   * Takes what rings within so many milliseconds for rung, so that it is armed anew when it is needed: the clock of the
   * host that rings may be ahead of this one's.
   */
  forgetWithin(ms: number): void {
    const through = this.#host.monotonic() + ms;
    for (const [at, { ringsAt }] of this.#standing) if (ringsAt <= through) this.#standing.delete(at);
  }

  /**
   * Arms each instant that does not stand yet; resolves once all of them stand.
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
   * The database's clock was set, so all that stands rings at a wrong time: arms it anew, at its distance from the new
   * time. A tick comes soon as well, for what other processes have armed.
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
    hint: "Nothing was sent to the database. Try again; if it goes on, look at the platform that keeps the alarms.",
  });
}
