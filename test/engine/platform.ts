/** What stands outside of every process: the alarms that are armed, and the dispatches that are under way. */
import { groupSizeOf } from "../../src/core/groups.ts";
import type { Alarm, Dispatch, TurnRef } from "../../src/core/ports.ts";

export interface StandingAlarm {
  /** The instant that it was armed for, by the database's clock. */
  readonly at: number;
  /** When it rings by the hosts' clock, or rings again: its tick failed. */
  ringsAt: number;
  /** Its tick is under way. It counts until that has ended. */
  isRinging: boolean;
  /** Nobody armed it: somebody wants a tick now, for what no alarm was armed. */
  readonly isUnarmed?: boolean;
}

export interface Delivery {
  readonly turns: readonly TurnRef[];
  readonly at: number;
}

export interface PlatformOptions {
  readonly time: () => number;
  /** How late an alarm rings, in milliseconds. At most two minutes. */
  readonly lateness: () => number;
  /** How many turns one invocation takes. Undefined: those that were dispatched together. */
  readonly batch: number | undefined;
}

/** Who carries out ticks. */
interface Ticking {
  tick(): Promise<unknown>;
}

const againMs = 2_000;
const mostLateMs = 120_000;

export class Platform {
  readonly #options: PlatformOptions;
  /** Alarms that ring, by who carries their tick out. */
  readonly #ringing = new Map<StandingAlarm, Ticking>();
  readonly #failed = new Set<StandingAlarm>();
  alarms: StandingAlarm[] = [];
  deliveries: Delivery[] = [];

  constructor(options: PlatformOptions) {
    this.#options = options;
  }

  readonly arm: Alarm = async (instants) => {
    for (const { at, inMs } of instants) {
      const soonest = this.#options.time() + inMs;
      const isEnough = (alarm: StandingAlarm) => alarm.ringsAt >= soonest && alarm.ringsAt <= soonest + mostLateMs;
      if (this.alarms.some((alarm) => alarm.at === at && !alarm.isRinging && isEnough(alarm))) continue;
      this.alarms.push({ at, ringsAt: soonest + this.#options.lateness(), isRinging: false });
    }
  };

  readonly dispatch: Dispatch = async (turns, delayMs) => {
    const at = Math.ceil(this.#options.time() + delayMs);
    if (this.#options.batch === undefined) this.deliveries.push({ turns, at });
    else this.deliveries.push(...turns.map((turn) => ({ turns: [turn], at })));
  };

  get dueAlarms(): readonly StandingAlarm[] {
    const now = this.#options.time();
    return this.alarms.filter(({ ringsAt, isRinging }) => !isRinging && ringsAt <= now);
  }

  get dueDeliveries(): readonly Delivery[] {
    const now = this.#options.time();
    return this.deliveries.filter(({ at }) => at <= now);
  }

  ring(alarm: StandingAlarm, owner: Ticking): void {
    alarm.isRinging = true;
    this.#ringing.set(alarm, owner);
    owner.tick().then(
      () => {
        this.#ringing.delete(alarm);
        this.alarms = this.alarms.filter((other) => other !== alarm && !this.#failed.has(other));
        this.#failed.clear();
      },
      () => this.#fail(alarm),
    );
  }

  /** A process died: platforms ring again where a tick died; what was dispatched to it is lost. */
  lose(owner: Ticking, { andAlarms }: { readonly andAlarms: boolean }): void {
    this.deliveries = [];
    if (andAlarms) this.alarms = [];
    for (const [alarm, ticking] of this.#ringing) if (ticking === owner) this.#ringAgain(alarm);
  }

  /** When something rings or is delivered next. */
  get next(): number | undefined {
    const rings = this.alarms.filter(({ isRinging }) => !isRinging).map(({ ringsAt }) => ringsAt);
    const now = this.#options.time();
    const instants = [...rings, ...this.deliveries.flatMap(({ at }) => (at > now ? [at] : []))];
    return instants.length === 0 ? undefined : Math.min(...instants);
  }

  /** Takes a delivery out, and of what else is due as much as one invocation takes. */
  take(delivery: Delivery): readonly TurnRef[] {
    const taken = [delivery];
    const size = sizeOf(delivery);
    for (const other of this.dueDeliveries) {
      if (taken.length === Math.min(this.#options.batch ?? 1, size ?? Number.POSITIVE_INFINITY)) break;
      if (other !== delivery && sizeOf(other) === size) taken.push(other);
    }
    this.deliveries = this.deliveries.filter((other) => !taken.includes(other));
    return taken.flatMap(({ turns }) => turns);
  }

  /** A tick that failed has armed the next one. Until one succeeds, this alarm counts. */
  #fail(alarm: StandingAlarm): void {
    this.#ringing.delete(alarm);
    const now = this.#options.time();
    if (this.alarms.some(({ isRinging, ringsAt }) => !isRinging && ringsAt > now)) this.#failed.add(alarm);
    else this.#ringAgain(alarm);
  }

  #ringAgain(alarm: StandingAlarm): void {
    this.#ringing.delete(alarm);
    alarm.isRinging = false;
    alarm.ringsAt = this.#options.time() + againMs;
  }
}

/** In groups of how many it goes. */
function sizeOf({ turns: [first] }: Delivery): number | undefined {
  return first && groupSizeOf(first);
}
