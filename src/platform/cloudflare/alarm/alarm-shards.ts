/**
 * The alarm of a Worker: it arms minutes in Durable Objects (see minutes.ts), and asks them whether a tick is wanted.
 *
 * A minute belongs to one object of several, so each rings once. What this isolate has armed it remembers, and asks for
 * a minute about once. It forgets a minute somewhat before it rings: the object's clock may run ahead.
 */
import type { Alarm, HostClock } from "../../../core/ports.ts";
import { minuteOf, minuteRingsAt } from "../../../core/waking.ts";
import { askAgain } from "../../invocation/ask-again.ts";
import type { AlarmLook, AlarmMessage, AlarmNote } from "./minutes.ts";

export interface AlarmShardsOptions {
  readonly ask: (shard: number, message: AlarmMessage) => Promise<AlarmLook | null>;
  /** How many objects. */
  readonly shards: number;
  /** The minutes that this isolate has armed; kept from request to request. */
  readonly armed: Set<number>;
  /** The host's wall clock, in epoch milliseconds. */
  readonly now?: () => number;
  readonly host?: HostClock;
}

const aheadMs = 15_000;
const mostRemembered = 10_000;

/**
 * An object that moves to another machine, or gets new code, refuses or drops what is under way. With five tries of 4 s
 * (see askAlarm) one that hangs is given up after 26 s: `waitUntil` is cut after 30.
 */
const pausesMs = [100, 400, 1_600, 4_000];

export class AlarmShards {
  readonly #options: AlarmShardsOptions;
  readonly #now: () => number;

  constructor(options: AlarmShardsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  readonly alarm: Alarm = async (instants) => {
    const { armed, shards } = this.#options;
    const now = this.#now();
    for (const minute of armed) if (minuteRingsAt(minute) <= now + aheadMs) armed.delete(minute);
    if (armed.size > mostRemembered) armed.clear();
    const minutes = new Set(instants.map(({ inMs }) => minuteOf(now + inMs)));
    const missing = [...minutes].filter((minute) => !armed.has(minute));
    const asked = [...Map.groupBy(missing, (minute) => minute % shards)];
    await Promise.all(asked.map(([shard, arm]) => this.#ask(shard, () => ({ arm, sentAt: this.#now() }))));
    for (const minute of missing) armed.add(minute);
  };

  /** Asks each object for its look. */
  async looks(): Promise<readonly AlarmLook[]> {
    return await Promise.all(
      Array.from({ length: this.#options.shards }, async (_, shard) => {
        const look = await this.#ask(shard, () => ({ look: true }));
        if (look === null) throw new Error(`the Durable Object layover-${shard} answered a look with nothing`);
        return look;
      }),
    );
  }

  async note(shard: number, note: AlarmNote): Promise<void> {
    await this.#ask(shard, () => ({ note }));
  }

  /** Each try says when it was sent: what it waited before is not the clocks' difference. */
  async #ask(shard: number, message: () => AlarmMessage): Promise<AlarmLook | null> {
    const { ask, host } = this.#options;
    return await askAgain(() => ask(shard, message()), pausesMs, host);
  }
}
