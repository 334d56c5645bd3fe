/**
 * What a Durable Object of {@link LayoverAlarm} keeps: a set of whole minutes, each of which rings once, and stays until the
 * tick that it rang for has ended well. So an alarm that is dropped, or a tick that dies, loses no minute.
 *
 * The runtime has one alarm for each object. It stands for the earliest minute, and is not set again where an earlier
 * one stands: each setting is a row that is written and billed, and so is each key. What changes nothing writes nothing.
 *
 * The runtime tries an alarm whose handler throws six times more and then drops it, so {@link Minutes.ring} sets
 * another one instead. Should it be dropped nevertheless, whoever looks each minute sees what is overdue.
 */
import { latestRingMs, minuteMs, minuteOf, minuteRingsAt, minuteSlackMs, overdueMs } from "../../../core/waking.ts";

/** The storage of a SQLite-backed Durable Object, as much of it as is used. */
export interface MinuteStorage {
  get(keys: string[]): Promise<Map<string, unknown>>;
  put(entries: Record<string, unknown>): Promise<void>;
  delete(keys: string[]): Promise<unknown>;
  /** Lists entries in the order of their keys. */
  list(options: { prefix: string; end?: string; limit?: number }): Promise<Map<string, unknown>>;
  /** Null as well while the handler of the one that rang is at work. */
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

/** What it is asked for, as JSON. Each may come twice. */
export type AlarmMessage = AlarmOrder | { readonly note: AlarmNote } | { readonly look: true };

export interface AlarmOrder {
  /** Minutes of the sender's clock. */
  readonly arm: readonly number[];
  /** What that clock showed, in epoch milliseconds. Default: what the object's shows. */
  readonly sentAt?: number;
}

/** The code of a deployment. */
export interface Code {
  /** Id of the deployment. */
  readonly id: string;
  /** The versions of workflows that it carries, each as one text. */
  readonly carries: readonly string[];
}

export interface AlarmNote {
  /** A tick that began after this instant of the object's clock has ended well. */
  readonly through?: number | undefined;
  /** The deployment whose first tick it was. Left out: it was no first tick. */
  readonly deployed?: Code | undefined;
  /** When the tick was a sweep: its instant, by the object's clock. Left out: it was none. */
  readonly sweptAt?: number | undefined;
}

export interface AlarmLook {
  /** The time of the object's clock, in epoch milliseconds. */
  readonly now: number;
  /** A minute should have rung, or its tick have ended, a while ago. */
  readonly isOverdue: boolean;
  /** No minute rings soon, so that nothing can be due but what no alarm stands for. */
  readonly isQuiet: boolean;
  /** The two deployments whose first ticks were noted last: in a gradual deployment both are alive. */
  readonly live: readonly Code[];
  readonly sweptAt: number | null;
}

export interface MinutesOptions {
  readonly storage: MinuteStorage;
  /** The host's wall clock, in epoch milliseconds. */
  readonly now: () => number;
  /**
   * Does a tick. Rejects if it has not ended well. False: a deployment that is `live` carries something that the code
   * of this tick does not, so another tick must follow.
   */
  readonly ring: (live: readonly Code[]) => Promise<boolean>;
  readonly onError: (error: unknown) => void;
}

/** How long after a failed tick the next one follows. */
const againMs = 30_000;

/**
 * By then whoever looks each minute has come. Where nobody does (the object is one of fewer since), a tick that ended well
 * is enough, whatever code it ran: otherwise it would ring for ever.
 */
const abandonedMs = 10 * minuteMs;

/** The most deployments that share the traffic at a time. */
const mostLive = 2;

/** That one call of the storage takes. */
const mostKeys = 128;

export class Minutes {
  readonly #options: MinutesOptions;

  constructor(options: MinutesOptions) {
    this.#options = options;
  }

  async answer(message: AlarmMessage): Promise<AlarmLook | null> {
    if ("look" in message) return await this.#look();
    if ("arm" in message) await this.#arm(this.#minutesOf(message));
    else await this.#note(message.note);
    return null;
  }

  /** The alarm has rung. */
  async ring(): Promise<void> {
    const { now, ring, onError } = this.#options;
    let isDone = false;
    try {
      const rung = await this.#through(now());
      const isEnough = rung.length === 0 || (await ring(await this.#live()));
      isDone = isEnough || ((await this.#first()) ?? 0) + abandonedMs <= now();
      if (isDone) await this.#remove(rung);
    } catch (error) {
      onError(error);
    }
    await this.#setAlarm(isDone ? await this.#first() : now() + againMs);
  }

  /**
   * A clock that is further off than a message may be under way is made up for. One that is ahead by less rings so much
   * before the instant that is meant: its tick arms what comes next, the minute after.
   */
  #minutesOf({ arm, sentAt }: AlarmOrder): readonly number[] {
    const offMs = sentAt === undefined ? 0 : this.#options.now() - sentAt;
    return Math.abs(offMs) <= minuteSlackMs ? arm : arm.map((minute) => minuteOf(minuteRingsAt(minute) + offMs));
  }

  /**
   * A minute that has begun to ring is no promise to whoever arms it only now: the tick may have looked already. So the
   * next one is kept for it.
   */
  async #arm(minutes: readonly number[]): Promise<void> {
    const { storage, now } = this.#options;
    const next = minuteOf(now() + 1);
    const wanted = [...new Set(minutes.map((minute) => Math.max(minute, next)))];
    for (const keys of pages(wanted.map(keyOf))) {
      const known = await storage.get(keys);
      const missing = keys.filter((key) => !known.has(key));
      if (missing.length > 0) await storage.put(Object.fromEntries(missing.map((key) => [key, 1])));
    }
    if (wanted.length > 0) await this.#setAlarm(minuteRingsAt(Math.min(...wanted)));
  }

  async #look(): Promise<AlarmLook> {
    const { storage } = this.#options;
    const now = this.#options.now();
    const first = (await this.#first()) ?? Number.POSITIVE_INFINITY;
    const sweptAt = (await storage.get(["sweptAt"])).get("sweptAt");
    return {
      now,
      isOverdue: first + overdueMs <= now,
      isQuiet: first > now + latestRingMs,
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

  /** The keys of what rings by this instant. */
  async #through(at: number): Promise<string[]> {
    const after = Math.floor((at - minuteSlackMs) / minuteMs) + 1;
    return [...(await this.#options.storage.list({ prefix, end: keyOf(after) })).keys()];
  }

  async #remove(keys: readonly string[]): Promise<void> {
    for (const page of pages(keys)) await this.#options.storage.delete(page);
  }
}

const prefix = "minute/";

/** Ten digits, so that the order of keys is that of minutes. */
function keyOf(minute: number): string {
  return `${prefix}${String(minute).padStart(10, "0")}`;
}

function pages(keys: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(keys.length / mostKeys) }, (_, page) =>
    keys.slice(page * mostKeys, (page + 1) * mostKeys),
  );
}

/** Whether a tick of this code finds everything that is due to a deployment that is alive. */
export function carriesAllOf(code: Code, live: readonly Code[]): boolean {
  const carried = new Set(code.carries);
  return live.every(({ carries }) => carries.every((version) => carried.has(version)));
}
