/**
 * A Durable Object, around a class of layover's own for it. Its clock is off; its alarm is late, tried again where its handler
 * is cut off or throws, and then dropped; its storage fails now and then.
 */

import { minuteRingsAt } from "../../../src/core/waking.ts";
import type { MinuteStorage } from "../../../src/platform/cloudflare/alarm/minutes.ts";
import { PlayedObject } from "../../platform/minute-storage.ts";
import type { Ground } from "./outside.ts";

/** What the runtime calls of a Durable Object. */
interface Callable {
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
}

/** Makes the object where it runs now, or answers the one that is there. `now`: its clock. */
export type MakeObject = (storage: PlayedObject, now: () => number) => Callable;

/**
 * How often an alarm is tried again before it is dropped, from 2 s on, doubling:
 * https://developers.cloudflare.com/durable-objects/api/alarms/
 */
const retries = 6;
const firstRetryMs = 2_000;
const latestMs = 30_000;
/** One request or ring of so many meets a storage that fails. */
const failing = 40;
const methods = [
  "get",
  "put",
  "delete",
  "list",
  "getAlarm",
  "setAlarm",
] as const satisfies readonly (keyof MinuteStorage)[];

export class AlarmObject {
  readonly #ground: Ground;
  readonly #storage = new PlayedObject();
  readonly #offMs: number;
  #lateMs = 0;
  #tries = 0;
  #isRinging = false;

  constructor(ground: Ground, { mostOffMs = 600_000 }: { readonly mostOffMs?: number } = {}) {
    this.#ground = ground;
    this.#offMs = ground.below(2 * mostOffMs) - mostOffMs;
  }

  /** What its storage has by this key. */
  stored(key: string): unknown {
    return this.#storage.entries.get(key);
  }

  /** The world's time of an instant of its clock. */
  timeOf(at: number): number {
    return at - this.#offMs;
  }

  /** Whether its alarm is set, or rings. */
  get isSet(): boolean {
    return this.#isRinging || this.#storage.alarmAt !== null;
  }

  /** When its alarm rings, by the world's clock. */
  get alarmAt(): number | undefined {
    const { alarmAt } = this.#storage;
    return alarmAt === null || this.#isRinging ? undefined : alarmAt - this.#offMs + this.#lateMs;
  }

  /** When each minute rings that it keeps, by the world's clock, and for which instant of the database's clock. */
  get minutes(): readonly { readonly at: number; readonly readyUntil: number }[] {
    return [...this.#storage.entries]
      .filter(([key]) => key.startsWith("minute/"))
      .map(([key, readyUntil]) => ({
        at: minuteRingsAt(Number(key.slice("minute/".length))) - this.#offMs,
        readyUntil: Number(readyUntil),
      }));
  }

  /** Tells whether the first tick of a deployment was noted. */
  knows(deployment: string): boolean {
    const live = this.#storage.entries.get("live");
    return Array.isArray(live) && live.some(({ id }) => id === deployment);
  }

  async fetch(make: MakeObject, request: Request): Promise<Response> {
    this.#mayFail();
    return await this.#made(make).fetch(request);
  }

  /** Rings the alarm. Answers how to cut its handler off, and whether the handler has ended before that. */
  ring(make: MakeObject): { readonly cutOff: () => void; readonly hasEnded: Promise<boolean> } {
    this.#storage.alarmAt = null;
    this.#isRinging = true;
    this.#mayFail();
    let isOver = false;
    const end = (isWell: boolean): boolean => {
      if (isOver) return false;
      isOver = true;
      this.#isRinging = false;
      if (isWell) {
        this.#tries = 0;
        this.#lateMs = this.#ground.below(3) === 0 ? this.#ground.below(latestMs) : 0;
      } else this.#tryAgain();
      return true;
    };
    const hasEnded = this.#made(make)
      .alarm()
      .then(
        () => end(true),
        () => end(false),
      );
    return { cutOff: () => void end(false), hasEnded };
  }

  #tryAgain(): void {
    this.#tries += 1;
    if (this.#tries > retries) this.#tries = 0;
    // An alarm that was set meanwhile is another one.
    else if (this.#storage.alarmAt === null) this.#storage.alarmAt = this.now() + firstRetryMs * 2 ** (this.#tries - 1);
  }

  #mayFail(): void {
    const { below } = this.#ground;
    const method = below(failing) === 0 ? methods[below(methods.length)] : undefined;
    if (method !== undefined) this.#storage.broken.add(method);
  }

  /** What time it is by its clock. */
  now(): number {
    return this.#ground.now() + this.#offMs;
  }

  #made(make: MakeObject): Callable {
    return make(this.#storage, () => this.now());
  }
}
