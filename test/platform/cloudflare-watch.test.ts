import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { minuteOf, minuteRingsAt } from "../../src/core/waking.ts";
import { AlarmShards } from "../../src/platform/cloudflare/alarm/alarm-shards.ts";
import { askAlarm } from "../../src/platform/cloudflare/alarm/layover-alarm.ts";
import { Minutes } from "../../src/platform/cloudflare/alarm/minutes.ts";
import { watch } from "../../src/platform/cloudflare/alarm/watch.ts";
import { messageOf } from "../../src/platform/log/event-text.ts";
import { PlayedObject } from "./minute-storage.ts";

const sweepMs = 6 * 3_600_000;
let now: number;
let objects: readonly PlayedObject[];
let shards: AlarmShards;
let asked: number;
let refusals: number;
let reports: string[];
let ticks: number;
/** The instant of the database's clock that the last tick was told. */
let readyUntil: number | undefined;
let tick: () => Promise<{ due: number; isWhole: boolean }>;
let armed: Set<number>;

beforeEach(() => {
  now = minuteRingsAt(29_000_000) - 30_000;
  objects = [new PlayedObject(), new PlayedObject()];
  asked = 0;
  refusals = 0;
  ticks = 0;
  readyUntil = undefined;
  reports = [];
  armed = new Set();
  tick = async () => ({ due: 0, isWhole: true });
  shards = shardsOf(armed);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Acts at once: a wait takes no time, however long it is. */
function passed(_: number, act: () => void): () => void {
  act();
  return () => {};
}

/** Makes the shards of one isolate, with the minutes that it remembers as armed. */
function shardsOf(remembered: Set<number>): AlarmShards {
  const all = objects.map(
    (storage) =>
      new Minutes({
        storage,
        now: () => now,
        ring: async () => true,
        onError: (error) => reports.push(String(error)),
      }),
  );
  return new AlarmShards({
    shards: all.length,
    armed: remembered,
    host: { now: () => now, monotonic: () => now, after: passed },
    async ask(shard, message) {
      asked += 1;
      const isRefused = refusals > 0;
      refusals -= 1;
      if (isRefused) throw new Error("the object was reset, because its code was updated");
      return (await all[shard]?.answer(message)) ?? null;
    },
  });
}

async function cron({ deployment = "one", sweep = sweepMs }: { deployment?: string; sweep?: number | false } = {}) {
  await watch({
    shards,
    code: { id: deployment, carries: [] },
    sweepMs: sweep === false ? undefined : sweep,
    tick: (instant) => {
      ticks += 1;
      readyUntil = instant;
      return tick();
    },
    tell: (event) => reports.push(messageOf(event)),
  });
}

const arm = async (...inMs: number[]) => await shards.alarm(inMs.map((ms) => ({ at: ms, inMs: ms })));

describe("arming", () => {
  test("asks for each minute once, and again somewhat before it rings", async () => {
    await arm(60_000, 61_000);
    await arm(60_000);
    expect(asked).toBe(1);
    now = minuteRingsAt(minuteOf(now + 60_000)) - 15_001;
    await arm(10_000);
    expect(asked).toBe(1);
    now += 1;
    await arm(10_000);
    expect(asked).toBe(2);
    expect(objects.flatMap(({ entries }) => [...entries])).toHaveLength(1);
  });

  test("another isolate asks for itself, and nothing is written", async () => {
    await arm(60_000);
    const writes = () => objects.reduce((sum, object) => sum + object.writes, 0);
    const before = writes();
    shards = shardsOf(new Set());
    await arm(60_000);
    expect([asked, writes()]).toEqual([2, before]);
  });

  test("each minute is one object's", async () => {
    await arm(60_000, 120_000, 180_000, 240_000);
    expect(objects.map(({ entries }) => entries.size)).toEqual([2, 2]);
    expect(asked).toBe(2);
  });

  test("is tried again where an object refuses, and rejects where it goes on to", async () => {
    refusals = 4;
    await arm(60_000);
    expect(armed.size).toBe(1);
    refusals = 5;
    await expect(arm(180_000)).rejects.toThrow("its code was updated");
    expect(armed.size).toBe(1); // so it is asked for anew
    await arm(180_000);
    expect(armed.size).toBe(2);
  });
});

test("an object that hangs keeps nobody for longer than half a minute, and nothing counts as armed", async () => {
  let waitedMs = 0;
  const pass = (ms: number) => {
    waitedMs += ms;
  };
  const hangs = async (_: string, { signal }: RequestInit) => {
    signal?.throwIfAborted();
    return await Promise.withResolvers<Response>().promise;
  };
  const host = {
    now: () => now,
    monotonic: () => now,
    after: (ms: number, act: () => void) => {
      pass(ms);
      return passed(ms, act);
    },
  };
  const namespace = { getByName: () => ({ fetch: hangs }) };
  const hanging = new AlarmShards({
    shards: 1,
    armed,
    host,
    ask: (shard, message) => askAlarm({ namespace, host }, shard, message),
  });
  for (const ask of [
    () => hanging.alarm([{ at: 60_000, inMs: 60_000 }]),
    () => hanging.states(),
    () => hanging.note(0, {}),
  ])
    await expect(ask()).rejects.toThrow("answered too late");
  expect(armed.size).toBe(0);
  expect(waitedMs / 3).toBeLessThan(30_000);
});

describe("the cron trigger", () => {
  test("ticks for a deployment that is new, once", async () => {
    for (let minute = 0; minute < 3; minute += 1) await cron();
    expect(ticks).toBe(1);
    await cron({ deployment: "two" });
    await cron({ deployment: "two" });
    expect(ticks).toBe(2);
  });

  test("ticks again for a deployment whose first tick was not whole, or failed", async () => {
    tick = async () => ({ due: 1, isWhole: false });
    await cron();
    tick = async () => Promise.reject(new Error("no database"));
    await expect(cron()).rejects.toThrow("no database");
    tick = async () => ({ due: 1, isWhole: true });
    await cron();
    await cron();
    expect([ticks, reports]).toEqual([3, []]);
  });

  test("ticks for two deployments that share the traffic once each, in whatever order they come", async () => {
    for (const deployment of ["one", "two", "one", "two", "two", "one"]) await cron({ deployment });
    expect(ticks).toBe(2);
    await cron({ deployment: "three" });
    await cron({ deployment: "two" });
    expect(ticks).toBe(3);
  });

  test("ticks again for a deployment that one of the objects was not told", async () => {
    const one = { id: "one", carries: [] };
    await cron();
    objects[1]?.entries.delete("live");
    await cron();
    await cron();
    expect(ticks).toBe(2);
    expect(objects.map(({ entries }) => entries.get("live"))).toEqual([[one], [one]]);
  });

  test("ticks for a minute whose alarm was dropped, and no more when that has ended well", async () => {
    await cron();
    await arm(60_000, 120_000);
    for (const object of objects) object.alarmAt = null; // dropped
    now += 4 * 60_000;
    tick = async () => Promise.reject(new Error("no database"));
    await expect(cron()).rejects.toThrow("no database");
    tick = async () => ({ due: 3, isWhole: true });
    await cron();
    await cron();
    expect([ticks, reports]).toEqual([3, []]);
    expect(objects.map(({ entries }) => [...entries.keys()].filter((key) => key.startsWith("minute")))).toEqual([
      [],
      [],
    ]);
  });

  test("tells its tick the database's time at which the last minute should have rung that is overdue", async () => {
    await cron();
    expect(readyUntil).toBe(0);
    await arm(60_000, 120_000, 10 * 60_000);
    for (const object of objects) object.alarmAt = null; // dropped
    now += 4 * 60_000;
    await cron();
    expect(readyUntil).toBeGreaterThanOrEqual(120_000);
    expect(readyUntil).toBeLessThan(180_000);
  });

  test("sets the alarm of what is left where it was dropped", async () => {
    await cron();
    await arm(60_000, 60_000 + 2 * 3_600_000);
    const [object] = objects.filter(({ alarmAt }) => alarmAt !== null);
    if (object === undefined) throw new Error("an alarm stands");
    object.alarmAt = null;
    now += 4 * 60_000;
    await cron();
    expect(object.alarmAt).toBeGreaterThan(now + 3_600_000);
  });

  test("twice in a minute, or not for an hour, does no harm", async () => {
    await Promise.all([cron(), cron()]);
    expect(ticks).toBe(2); // a tick too many is only that
    now += 3_600_000;
    await cron();
    expect([ticks, reports]).toEqual([2, []]);
  });

  test("sweeps after six hours in which it was told of nothing, and reports what it finds", async () => {
    await cron();
    now += sweepMs - 60_000;
    await cron();
    expect(ticks).toBe(1);
    now += 60_000;
    await cron();
    expect([ticks, reports]).toEqual([2, []]);
    now += sweepMs;
    tick = async () => ({ due: 2, isWhole: true });
    await cron();
    await cron();
    expect(ticks).toBe(3);
    expect(reports).toEqual([expect.stringContaining("2 runs were due and no alarm rang")]);
  });

  test("sweeps not while minutes ring, each of which is a tick, nor where that is off", async () => {
    await cron();
    now += sweepMs;
    await arm(60_000);
    await cron();
    expect(ticks).toBe(1);
    now += 120_000;
    for (const object of objects) {
      for (const key of object.entries.keys()) if (key.startsWith("minute")) object.entries.delete(key);
    }
    await cron({ sweep: false });
    expect(ticks).toBe(1);
  });
});
