/** What stands outside of every process: the alarms that are armed, and the dispatches that are under way. */
import { groupSizeOf } from "../../src/core/groups.ts";
import type { Alarm, Dispatch, TurnRef } from "../../src/core/ports.ts";
import type { TickOptions } from "../../src/engine/scheduler/tick.ts";

export interface StandingAlarm {
  /** The instant that it was armed for, by the database's clock. */
  readonly at: number;
  /** When it rings by the hosts' clock. After a tick that failed: when it rings again. */
  ringsAt: number;
  /** Whether its tick is under way. The alarm counts until the tick has ended. */
  isRinging: boolean;
  /** Whether nobody armed it: it stands for a tick that somebody wants now. */
  readonly isUnarmed?: boolean;
  /** The latest due instant of ready runs at which its tick looks, though the database's clock was set back. */
  readonly readyUntil?: number | undefined;
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
  /** Whether an alarm tells the instant for which it rings. The timers of a process do not. */
  readonly tellsInstants: boolean;
}

/** A process that carries out ticks. */
interface Ticking {
  tick(options: TickOptions): Promise<unknown>;
}

const againMs = 2_000;
const mostLateMs = 120_000;

export class Platform {
  readonly #options: PlatformOptions;
  /** The alarms that ring, each with the process that carries out its tick. */
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
    owner.tick(this.#options.tellsInstants ? { readyUntil: alarm.at } : {}).then(
      () => {
        this.#ringing.delete(alarm);
        this.alarms = this.alarms.filter((other) => other !== alarm && !this.#failed.has(other));
        this.#failed.clear();
      },
      () => this.#fail(alarm),
    );
  }

  /**
   * Plays what a platform does when a process dies. The process loses what was dispatched to it, and alarms whose tick
   * died ring again. `andAlarms`: all alarms were in its memory, and are lost too.
   */
  lose(owner: Ticking, { andAlarms }: { readonly andAlarms: boolean }): void {
    this.deliveries = [];
    if (andAlarms) this.alarms = [];
    for (const [alarm, ticking] of this.#ringing) if (ticking === owner) this.#ringAgain(alarm);
  }

  /** When something rings or is delivered next, in the world's milliseconds. */
  get next(): number | undefined {
    const rings = this.alarms.filter(({ isRinging }) => !isRinging).map(({ ringsAt }) => ringsAt);
    const now = this.#options.time();
    const instants = [...rings, ...this.deliveries.flatMap(({ at }) => (at > now ? [at] : []))];
    return instants.length === 0 ? undefined : Math.min(...instants);
  }

  /** Takes a delivery out, with as many others that are due as one invocation takes. */
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

  /**
   * Notes that a tick failed. Where another alarm is to ring, this one counts until a tick succeeds; else it rings
   * again.
   */
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

/** Answers how large the group may be in which its turns go. Undefined: any size. */
function sizeOf({ turns: [first] }: Delivery): number | undefined {
  return first && groupSizeOf(first);
}
