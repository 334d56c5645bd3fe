/**
 * What this process has armed outside Postgres. An instant stays armed until it rings, so arming it again costs
 * nothing, and a step in motion arms about once a minute.
 */
import { motionMinute } from "../core/motion.ts";
import type { Alarm } from "../core/ports.ts";
import type { DatabaseClock } from "./clock.ts";

/** From a call's limit to its COMMIT we assume no more than this. */
const commitMs = 30_000;

export class Alarms {
  /** The alarm rings at a pace of its own for ever, as a cron does, whatever is armed. */
  readonly isBeat: boolean;
  readonly #alarm: Alarm;
  readonly #clock: DatabaseClock;
  readonly #standing = new Map<number, Promise<void>>();

  constructor(alarm: Alarm, clock: DatabaseClock, isBeat = false) {
    this.isBeat = isBeat;
    this.#alarm = alarm;
    this.#clock = clock;
  }

  /**
   * Arms what a call that takes effect by `notAfter` may lean on, and answers those instants: the motion minute, and of
   * the deadlines those that cannot ring before the commit they serve. After a beat that did there comes another one, so
   * there each deadline to come counts.
   */
  armFor(notAfter: number, deadlines: readonly number[]): Promise<readonly number[]> {
    const now = this.#clock.now();
    const earliest = this.isBeat ? now : notAfter + commitMs;
    return this.arm([motionMinute(now), ...deadlines.filter((at) => at > earliest)]);
  }

  /** What may have rung, though the host's clock may run ahead of the database's, is armed anew when it is needed. */
  forget(through: number): void {
    for (const at of this.#standing.keys()) if (at <= through) this.#standing.delete(at);
  }

  /** Arms each instant that does not stand yet; resolves once all of them stand. */
  async arm(instants: readonly number[]): Promise<readonly number[]> {
    const now = this.#clock.now();
    this.forget(now);
    const wanted = [...new Set(instants)];
    const missing = wanted.filter((at) => !this.#standing.has(at));
    if (missing.length > 0) {
      const armed = this.#alarm(missing.map((at) => ({ at, inMs: Math.max(0, at - now) })));
      for (const at of missing) this.#standing.set(at, armed);
      armed.catch(() => {
        for (const at of missing) if (this.#standing.get(at) === armed) this.#standing.delete(at);
      });
    }
    await Promise.all(wanted.map((at) => this.#standing.get(at)));
    return wanted;
  }
}
