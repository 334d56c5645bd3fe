/**
 * The alarm of a deployment on AWS: schedules of EventBridge that fire once. Each minute has one, whoever arms it, since
 * its name is made of the minute. The environment remembers which it has armed, so it arms each about once.
 *
 * A schedule fires within the minute that begins at its instant. AWS deletes it after that, or after its last try, which
 * may be an hour later. So a schedule that exists already is sure to ring only if its minute lies ahead.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Alarm, WallClock } from "../../core/ports.ts";
import { forgottenMs, minuteMs, minuteOf, minuteRingsAt, minuteSlackMs } from "../../core/waking.ts";
import { askAgain } from "../invocation/ask-again.ts";
import type { OneShot } from "./aws/schedule.ts";
import { isRefused, type Services } from "./aws/services.ts";
import type { AwsNames } from "./aws/settings.ts";
import type { TickEvent } from "./messages.ts";

export interface SchedulesOptions {
  readonly services: Pick<Services, "schedule">;
  readonly names: Pick<AwsNames, "tick" | "scheduleGroup" | "scheduleRole" | "queueArn">;
  /** The schedules that stand, as far as the environment knows; kept from one invocation to the next. */
  readonly armed: Armed;
  readonly host: WallClock;
}

/** The most schedules that are remembered. */
const mostRemembered = 10_000;

/** The most schedules that a dispatch names: those of the next minutes. The later ones are armed seldom. */
const mostNamed = 5;

/** The pauses between tries, beside those that the client makes by itself. */
const pausesMs = [200, 1_000];

/** How many minutes in a row are tried, where AWS refuses one as past, or it may have fired already. */
const mostMinutes = 3;

/** The steps in which the difference between the database's clock and the host's is told apart. */
const aheadStepMs = 10_000;

/** The schedules that an environment knows to stand, each as `minute:ahead` (see {@link Schedules}). */
export class Armed {
  readonly #keys = new Set<string>();

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  /** Forgets what rings soon, since the clock of AWS may be ahead. */
  forget(now: number): void {
    for (const key of this.#keys) if (minuteRingsAt(minuteIn(key)) <= now + forgottenMs) this.#keys.delete(key);
    if (this.#keys.size > mostRemembered) this.#keys.clear();
  }

  /** Forgets everything: the host's clock was wrong. */
  clear(): void {
    this.#keys.clear();
  }

  /** The next ones, for those who go on with the work. */
  next(): readonly string[] {
    return [...this.#keys].toSorted((one, other) => minuteIn(one) - minuteIn(other)).slice(0, mostNamed);
  }
}

function minuteIn(key: string): number {
  return Number(key.slice(0, key.indexOf(":")));
}

export class Schedules {
  readonly #options: SchedulesOptions;

  constructor(options: SchedulesOptions) {
    this.#options = options;
  }

  readonly alarm: Alarm = async (instants) => {
    const { armed, host } = this.#options;
    const now = host.now();
    armed.forget(now);
    const aheadMs = Math.max(...instants.map(({ at, inMs }) => at - inMs)) - now;
    const minutes = new Set(instants.map(({ inMs }) => minuteOf(now + inMs)));
    await Promise.all([...minutes].map((minute) => this.#arm(minute, aheadMs)));
  };

  /**
   * Arms a tick after one that failed, by the host's clock. The pause grows with the tries, since each of them wakes the
   * database. The tick looks at what the failed one would have found, though the database's clock was set back.
   */
  async ringAgain({ minute, readyUntil, tries = 0 }: TickEvent): Promise<void> {
    const { host } = this.#options;
    const minutes = pausesAfterFailure[Math.min(tries, pausesAfterFailure.length - 1)] ?? 1;
    const at = minuteOf(host.now()) + minutes;
    const next: TickEvent = { tries: tries + 1 };
    if (minute === undefined || readyUntil === undefined) {
      await this.#create(at, "again", next);
      return;
    }
    const aheadMs = readyUntil - minuteSlackMs - minuteRingsAt(minute);
    await this.#create(at, `again ${stepsOf(aheadMs)}`, (at) => ({ ...next, readyUntil: readyUntilOf(at, aheadMs) }));
  }

  /** The minute rings at this difference between the clocks. If the database's clock is set, another one is armed. */
  async #arm(minute: number, aheadMs: number): Promise<void> {
    const ahead = stepsOf(aheadMs);
    const key = (at: number) => `${at}:${ahead}`;
    if (this.#options.armed.has(key(minute))) return;
    const stands = await this.#create(minute, String(ahead), (at) => ({ readyUntil: readyUntilOf(at, aheadMs) }));
    // A later minute than the wanted one counts for itself alone.
    this.#options.armed.add(key(stands));
  }

  /** Makes the schedule of this minute, or of the first one after it that is sure to ring. Answers which. */
  async #create(minute: number, which: string, event: TickEvent | ((minute: number) => TickEvent)): Promise<number> {
    const { services, host } = this.#options;
    let refused: unknown;
    for (let at = minute, tries = 0; tries < mostMinutes; at += 1) {
      if (at * minuteMs <= host.now() + forgottenMs) continue;
      tries += 1;
      try {
        const schedule = this.#scheduleOf(at, which, {
          minute: at,
          ...(typeof event === "function" ? event(at) : event),
        });
        const outcome = await askAgain(() => unlessRefused(services.schedule(schedule)), pausesMs, host);
        if (typeof outcome !== "string") throw outcome.refused;
        if (outcome === "created" || at * minuteMs > host.now() + forgottenMs) return at;
      } catch (error) {
        if (!isRefused(error)) throw error;
        refused = error;
      }
    }
    throw refused ?? new Error("no schedule could be made in time for any of three minutes");
  }

  #scheduleOf(minute: number, which: string, event: TickEvent): OneShot {
    const { tick, scheduleGroup, scheduleRole, queueArn } = this.#options.names;
    // Another deployment in the group, or another role, must not find this schedule and take it for its own.
    const digest = bytesToHex(sha256(utf8ToBytes([tick, scheduleRole, queueArn, which].join(" ")))).slice(0, 16);
    return {
      name: `layover-${minute}-${digest}`,
      group: scheduleGroup,
      at: minute * minuteMs,
      target: tick,
      role: scheduleRole,
      input: JSON.stringify(event),
      deadLetters: queueArn,
    };
  }
}

function stepsOf(aheadMs: number): number {
  return Math.round(aheadMs / aheadStepMs);
}

/** The latest due instant at which the tick of a minute looks, by the database's clock, which is so far ahead of the host's. */
function readyUntilOf(minute: number, aheadMs: number): number {
  return minuteRingsAt(minute) + aheadMs + minuteSlackMs;
}

/** How many minutes after a tick that failed the next one comes. */
const pausesAfterFailure = [1, 2, 5, 10];

/** Does not ask again for what is refused. */
async function unlessRefused<Outcome>(outcome: Promise<Outcome>): Promise<Outcome | { readonly refused: unknown }> {
  try {
    return await outcome;
  } catch (error) {
    if (isRefused(error)) return { refused: error };
    throw error;
  }
}
