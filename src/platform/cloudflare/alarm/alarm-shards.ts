/**
 * The alarm of a Worker. It arms minutes in Durable Objects (see minutes.ts), and asks them whether a tick is needed.
 *
 * Each minute belongs to one object of several, so it rings once. The isolate remembers which minutes it has armed, so
 * it arms each about once. It forgets a minute a little before that minute rings, since the object's clock may be ahead.
 */
import type { Alarm, WallClock } from "../../../core/ports.ts";
import { forgottenMs, minuteOf, minuteRingsAt } from "../../../core/waking.ts";
import { askAgain } from "../../invocation/ask-again.ts";
import type { AlarmMessage, AlarmNote, AlarmState } from "./minutes.ts";

export interface AlarmShardsOptions {
  readonly ask: (shard: number, message: AlarmMessage) => Promise<AlarmState | null>;
  /** How many objects there are. */
  readonly shards: number;
  /** The minutes that this isolate has armed; kept from request to request. */
  readonly armed: Set<number>;
  readonly host: WallClock;
}

const mostRemembered = 10_000;

/**
 * The pauses between tries. An object refuses or drops requests while it moves to another machine or gets new code. One
 * that hangs is given up after five tries of 4 s (see askAlarm). That takes 26 s, and `waitUntil` is cut after 30.
 */
const pausesMs = [100, 400, 1_600, 4_000];

export class AlarmShards {
  readonly #options: AlarmShardsOptions;

  constructor(options: AlarmShardsOptions) {
    this.#options = options;
  }

  readonly alarm: Alarm = async (instants) => {
    const { armed, shards, host } = this.#options;
    const now = host.now();
    for (const minute of armed) if (minuteRingsAt(minute) <= now + forgottenMs) armed.delete(minute);
    if (armed.size > mostRemembered) armed.clear();
    const minutes = new Set(instants.map(({ inMs }) => minuteOf(now + inMs)));
    const aheadMs = Math.max(...instants.map(({ at, inMs }) => at - inMs)) - now;
    const missing = [...minutes].filter((minute) => !armed.has(minute));
    const asked = [...Map.groupBy(missing, (minute) => minute % shards)];
    await Promise.all(asked.map(([shard, arm]) => this.#ask(shard, () => ({ arm, sentAt: host.now(), aheadMs }))));
    for (const minute of missing) armed.add(minute);
  };

  /** Asks each object for its state. */
  async states(): Promise<readonly AlarmState[]> {
    return await Promise.all(
      Array.from({ length: this.#options.shards }, async (_, shard) => {
        const state = await this.#ask(shard, () => ({ look: true }));
        if (state === null) throw new Error(`the Durable Object layover-${shard} did not tell its state`);
        return state;
      }),
    );
  }

  async note(shard: number, note: AlarmNote): Promise<void> {
    await this.#ask(shard, () => ({ note }));
  }

  /** Asks until the object answers. Each try says when it was sent, so a pause does not look like a wrong clock. */
  async #ask(shard: number, message: () => AlarmMessage): Promise<AlarmState | null> {
    const { ask, host } = this.#options;
    return await askAgain(() => ask(shard, message()), pausesMs, host);
  }
}
