/**
 * What the alarm promises, played by Cloudflare's rules with everything failing that can: after each armed instant a
 * tick begins that ends well. The runtime tries an alarm whose handler is cut off six times more, then drops it;
 * objects are evicted amid anything; ticks and storage fail; the cron trigger leaves minutes out or comes twice.
 */
import { describe, expect, test } from "vitest";
import { AlarmShards } from "../../src/platform/cloudflare/alarm/alarm-shards.ts";
import { Minutes } from "../../src/platform/cloudflare/alarm/minutes.ts";
import { watch } from "../../src/platform/cloudflare/alarm/watch.ts";
import { Chance } from "../engine/chance.ts";
import { PlayedObject } from "./minute-storage.ts";

const hour = 3_600_000;
/** How often a tick fails, an object is cut off, or its storage fails: one time in `failing`. */
interface Odds {
  readonly failing: number;
  /** Whether nothing goes wrong but that objects are cut off amid a tick. */
  readonly areCuts?: boolean;
}

class Story {
  now = 1_767_268_800_000;
  readonly #object = new PlayedObject();
  readonly #chance: Chance;
  readonly #odds: Odds;
  readonly #armed: number[] = [];
  /** When each tick that ended well began. */
  readonly #ticks: number[] = [];
  #tries = 0;
  #isTurning = true;

  constructor(seed: number, odds: Odds) {
    this.#chance = new Chance(seed, 1);
    this.#odds = odds;
  }

  get #isCut(): boolean {
    return this.#isTurning && this.#chance.below(this.#odds.failing) === 0;
  }

  get #isFailing(): boolean {
    return this.#odds.areCuts !== true && this.#isCut;
  }

  /**
   * Plays an hour in which everything may fail, and one in which nothing does. Answers how late each instant's tick
   * was.
   */
  async play(): Promise<readonly number[]> {
    const end = this.now + hour;
    while (this.now < end) await this.#event();
    this.#isTurning = false;
    while (this.now < end + hour) await this.#event();
    return this.#armed.map((at) => (this.#ticks.find((tick) => tick >= at) ?? Number.POSITIVE_INFINITY) - at);
  }

  async #event(): Promise<void> {
    const before = this.now;
    this.now += this.#chance.below(20_000);
    const alarmAt = this.#object.alarmAt;
    if (alarmAt !== null && alarmAt <= this.now) await this.#ring(alarmAt);
    if (Math.floor(before / 60_000) < Math.floor(this.now / 60_000)) {
      const times = this.#isFailing ? this.#chance.below(3) : 1;
      for (let time = 0; time < times; time += 1) await this.#cron().catch(() => {});
    }
    if (this.#isTurning && this.#chance.below(4) === 0) await this.#arm();
  }

  async #arm(): Promise<void> {
    const inMs = this.#chance.below(20 * 60_000);
    const at = this.now + inMs;
    if (this.#isFailing) this.#object.broken.add(this.#chance.pick(["get", "put", "getAlarm", "setAlarm"]));
    await this.#shards()
      .alarm([{ at, inMs }])
      .then(
        () => this.#armed.push(at),
        () => {},
      );
    this.#object.broken.clear();
  }

  /** Answers shards that remember nothing, since each call may be another isolate's. */
  #shards(): AlarmShards {
    const minutes = this.#minutes();
    return new AlarmShards({
      shards: 1,
      armed: new Set(),
      host: { now: () => this.now, monotonic: () => this.now, after: atOnce },
      ask: (_, message) => minutes.answer(message),
    });
  }

  #minutes(cut?: { readonly promise: Promise<boolean> }): Minutes {
    return new Minutes({
      storage: this.#object,
      now: () => this.now,
      ring: () => (cut === undefined ? this.#tick() : cut.promise),
      onError: () => {},
    });
  }

  async #ring(alarmAt: number): Promise<void> {
    this.#object.alarmAt = null;
    if (this.#isCut) {
      // The object is gone amid its tick, so its alarm is tried again after 2, 4, 8 … s.
      void this.#minutes(Promise.withResolvers<boolean>()).ring();
      await new Promise((resolve) => setImmediate(resolve));
      this.#tries += 1;
      if (this.#tries <= 6) this.#object.alarmAt = Math.max(alarmAt, this.now) + 1_000 * 2 ** this.#tries;
      else this.#tries = 0;
      return;
    }
    this.#tries = 0;
    if (this.#isFailing) this.#object.broken.add(this.#chance.pick(["list", "delete", "getAlarm"]));
    await this.#minutes()
      .ring()
      .catch(() => {
        this.#object.alarmAt = this.now + 2_000;
      });
    this.#object.broken.clear();
  }

  async #tick(): Promise<boolean> {
    const began = this.now;
    this.now += this.#chance.below(3_000);
    if (this.#isFailing) return false;
    this.#ticks.push(began);
    return true;
  }

  async #cron(): Promise<void> {
    await watch({
      shards: this.#shards(),
      code: { id: "one", carries: [] },
      sweepMs: undefined,
      tick: async () => {
        if (!(await this.#tick())) throw new Error("no database");
        return { due: 0, isWhole: true };
      },
      tell: () => {},
    });
  }
}

function atOnce(_: number, act: () => void): () => void {
  act();
  return () => {};
}

describe("after each armed instant a tick ends well", () => {
  test("within 62 s and what a moment takes, where nothing fails", async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const late = await new Story(seed, { failing: Number.MAX_SAFE_INTEGER }).play();
      expect(late.length).toBeGreaterThan(20);
      expect(Math.max(...late), `seed ${seed}`).toBeLessThan(62_000 + 20_000 + 3_000);
    }
  });

  test("within two minutes and what a moment takes, however many objects are cut off amid their ticks", async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const late = await new Story(seed, { failing: 2, areCuts: true }).play();
      expect(Math.max(...late), `seed ${seed}`).toBeLessThan(120_000 + 20_000 + 3_000);
    }
  });

  test.each([3, 10, 40])("whatever fails, one time in %i", async (failing) => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const late = await new Story(seed, { failing }).play();
      expect(Math.max(...late), `seed ${seed}`).toBeLessThan(hour);
    }
  });
});
