/**
 * What a Durable Object of {@link LayoverAlarm} keeps: a set of whole minutes. Each minute rings once. It stays in the
 * set until a tick has ended well after it rang. So no minute is lost if an alarm is dropped or a tick dies. With each
 * minute stands the time that the database was expected to have when it rings.
 *
 * The runtime has one alarm for each object. It is set to the earliest minute. It is not set again if it stands at an
 * earlier one, since each setting is a row that is written and billed. So is each key. So nothing is written that
 * changes nothing.
 *
 * The runtime tries an alarm whose handler throws six times more, and then drops it. So {@link Minutes.ring} does not
 * throw, and sets another alarm instead. If an alarm is dropped nevertheless, the cron trigger sees what is overdue.
 */
import {
  minuteMs,
  minuteOf,
  minuteRingsAt,
  minuteSlackMs,
  nextRingMs,
  overdueMs,
  punctual,
} from "../../../core/waking.ts";

/** The storage of a SQLite-backed Durable Object, as much of it as is used. */
export interface MinuteStorage {
  get(keys: string[]): Promise<Map<string, unknown>>;
  put(entries: Record<string, unknown>): Promise<void>;
  delete(keys: string[]): Promise<unknown>;
  /** Lists entries in the order of their keys. */
  list(options: { prefix: string; end?: string; limit?: number }): Promise<Map<string, unknown>>;
  /** The alarm that is set. Null: there is none, or the handler of the one that rang is at work. */
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

/** A message to an object, as JSON. Each message may come twice. `look` asks for its state. */
export type AlarmMessage = AlarmOrder | { readonly note: AlarmNote } | { readonly look: true };

export interface AlarmOrder {
  /** Minutes of the sender's clock. */
  readonly arm: readonly number[];
  /** The time of that clock when it was sent, in epoch milliseconds. Default: the time of the object's clock. */
  readonly sentAt?: number;
  /** How far the database's clock is ahead of that clock, in milliseconds. Default: 0. */
  readonly aheadMs?: number;
}

/** The code of a deployment. */
export interface Code {
  /** Id of the deployment. */
  readonly id: string;
  /** The versions of workflows that it carries, each as one text. */
  readonly carries: readonly string[];
}

export interface AlarmNote {
  /** The instant, by the object's clock, after which a tick began that has ended well. */
  readonly through?: number | undefined;
  /** The deployment whose first tick that was. Left out: it was not a first tick. */
  readonly deployed?: Code | undefined;
  /** The time of a sweep, by the object's clock. Left out: the tick was not a sweep. */
  readonly sweptAt?: number | undefined;
}

export interface AlarmState {
  /** The time of the object's clock, in epoch milliseconds. */
  readonly now: number;
  /** Whether some minute should have rung, or its tick should have ended, a while ago. */
  readonly isOverdue: boolean;
  /** The instant of the database's clock at which the last overdue minute rings. 0: none is. Left out by earlier releases. */
  readonly readyUntil?: number;
  /** Whether no minute rings soon. Then everything that is due now lacks an alarm. */
  readonly isQuiet: boolean;
  /** The two deployments whose first ticks were noted last: in a gradual deployment both are alive. */
  readonly live: readonly Code[];
  /** The time of the last sweep, by the object's clock. */
  readonly sweptAt: number | null;
}

export interface MinutesOptions {
  readonly storage: MinuteStorage;
  /** The host's wall clock, in epoch milliseconds. */
  readonly now: () => number;
  /**
   * Ticks. Rejects if that has not ended well. False: a deployment that is `live` carries something that the code of
   * this tick does not carry, so another tick must follow. `readyUntil`: as for the engine's tick.
   */
  readonly ring: (live: readonly Code[], readyUntil: number) => Promise<boolean>;
  readonly onError: (error: unknown) => void;
}

/**
 * How long a minute waits for a tick of the newest code. The cron trigger does that tick within this time. It does not
 * look after an object that is no longer used, since there are fewer now. Then a tick of any code is enough after this
 * time: otherwise the minute would ring for ever.
 */
const abandonedMs = 10 * minuteMs;

/** The most deployments that share the traffic at a time. */
const mostLive = 2;

/** The most keys that one call of the storage takes. */
const mostKeys = 128;

export class Minutes {
  readonly #options: MinutesOptions;

  constructor(options: MinutesOptions) {
    this.#options = options;
  }

  async answer(message: AlarmMessage): Promise<AlarmState | null> {
    if ("look" in message) return await this.#state();
    if ("arm" in message) await this.#arm(message);
    else await this.#note(message.note);
    return null;
  }

  /** Ticks for the minutes that have come, when the alarm has rung. */
  async ring(): Promise<void> {
    const { now, ring, onError } = this.#options;
    let isDone = false;
    try {
      const rung = await this.#through(now());
      const isEnough = rung.size === 0 || (await ring(await this.#live(), latestOf(rung)));
      isDone = isEnough || ((await this.#first()) ?? 0) + abandonedMs <= now();
      if (isDone) await this.#remove(rung);
    } catch (error) {
      onError(error);
    }
    await this.#setAlarm(isDone ? await this.#first() : now() + nextRingMs);
  }

  /**
   * Keeps minutes, each with the instant of the database's clock at which it rings, and a little more, since two senders
   * may know that clock a little differently. If a minute has begun to ring already, the next one is kept in its place,
   * since the tick of the first one may have looked before now.
   *
   * A difference between the clocks is made up for if it is larger than a message's time under way. A smaller one is
   * not: if the object's clock is ahead, the minute rings as much too early, and its tick arms the next minute.
   */
  async #arm({ arm, sentAt, aheadMs = 0 }: AlarmOrder): Promise<void> {
    const { storage } = this.#options;
    const now = this.#options.now();
    const agoMs = now - (sentAt ?? now);
    const offMs = Math.abs(agoMs) <= minuteSlackMs ? 0 : agoMs;
    const minutes = arm.map((minute) => minuteOf(Math.max(minuteRingsAt(minute) + offMs, now + 1)));
    const wanted = new Map(
      minutes.map((minute) => [keyOf(minute), minuteRingsAt(minute) - offMs + aheadMs + minuteSlackMs]),
    );
    for (const page of pages([...wanted])) {
      const known = await storage.get(page.map(([key]) => key));
      // The database's clock may have been set ahead since the minute was armed. Of a missing minute the number is NaN.
      const missing = page.filter(([key, instant]) => !(Number(known.get(key)) >= instant - minuteSlackMs));
      if (missing.length > 0) await storage.put(Object.fromEntries(missing));
    }
    if (minutes.length > 0) await this.#setAlarm(minuteRingsAt(Math.min(...minutes)));
  }

  async #state(): Promise<AlarmState> {
    const { storage } = this.#options;
    const now = this.#options.now();
    const first = (await this.#first()) ?? Number.POSITIVE_INFINITY;
    const isOverdue = first + overdueMs <= now;
    const sweptAt = (await storage.get(["sweptAt"])).get("sweptAt");
    return {
      now,
      isOverdue,
      readyUntil: isOverdue ? latestOf(await this.#through(now)) : 0,
      isQuiet: first > now + punctual.latestRingMs,
      live: await this.#live(),
      sweptAt: typeof sweptAt === "number" ? sweptAt : null,
    };
  }

  async #note({ through, deployed, sweptAt }: AlarmNote): Promise<void> {
    const { storage } = this.#options;
    if (deployed !== undefined) {
      const others = (await this.#live()).filter(({ id }) => id !== deployed.id);
      await storage.put({ live: [deployed, ...others].slice(0, mostLive) });
    }
    if (sweptAt !== undefined) await storage.put({ sweptAt });
    if (through === undefined) return;
    await this.#remove(await this.#through(through));
    await this.#setAlarm(await this.#first());
  }

  async #setAlarm(at: number | undefined): Promise<void> {
    const { storage } = this.#options;
    if (at === undefined) return;
    const standing = await storage.getAlarm();
    if (standing === null || standing > at) await storage.setAlarm(at);
  }

  async #live(): Promise<readonly Code[]> {
    const live = (await this.#options.storage.get(["live"])).get("live");
    return Array.isArray(live) ? live : [];
  }

  /** When the earliest minute rings, or should have. */
  async #first(): Promise<number | undefined> {
    const [key] = (await this.#options.storage.list({ prefix, limit: 1 })).keys();
    return key === undefined ? undefined : minuteRingsAt(Number(key.slice(prefix.length)));
  }

  /** The entries of what rings by this instant. */
  async #through(at: number): Promise<Map<string, unknown>> {
    const after = Math.floor((at - minuteSlackMs) / minuteMs) + 1;
    return await this.#options.storage.list({ prefix, end: keyOf(after) });
  }

  async #remove(entries: ReadonlyMap<string, unknown>): Promise<void> {
    for (const page of pages([...entries.keys()])) await this.#options.storage.delete(page);
  }
}

const prefix = "minute/";

/** Makes a key with ten digits, so that the keys sort as the minutes do. */
function keyOf(minute: number): string {
  return `${prefix}${String(minute).padStart(10, "0")}`;
}

/** The latest instant of the database's clock at which these minutes ring. Earlier releases keep 1 with each of them. */
function latestOf(entries: ReadonlyMap<string, unknown>): number {
  return Math.max(0, ...[...entries.values()].map(Number));
}

function pages<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / mostKeys) }, (_, page) =>
    items.slice(page * mostKeys, (page + 1) * mostKeys),
  );
}

/** Whether a tick of this code finds everything that is due to a deployment that is alive. */
export function carriesAllOf(code: Code, live: readonly Code[]): boolean {
  const carried = new Set(code.carries);
  return live.every(({ carries }) => carries.every((version) => carried.has(version)));
}
