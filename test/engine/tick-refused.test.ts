/**
 * A platform that refuses for hours what a tick dispatches. The process that learns of it has the tick's moves taken
 * back, so that these runs are looked at again and again. A turn that was taken and never claimed backs off meanwhile.
 */
import { v7 } from "uuid";
import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import type { TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { makeDueAgain } from "../../src/engine/scheduler/due-again.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import type { Move } from "../../src/postgres/wire-scheduler.ts";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";

const minute = 60_000;
const database = testDatabase({ perTest: true });
const idle = workflow({ name: "idle", version: 1 }).handler(async () => {});
const pair = workflow({ name: "pair", version: 1 }).handler(async ({ step }) => {
  await Promise.all(["left", "right"].map((name) => step.run(name, () => name)));
});
const sleeper = workflow({ name: "sleeper", version: 1 }).handler(async ({ step }) => step.sleep("long", "1 day"));

let clock: Clock;
let now: number;
let calls: Calls;
let engine: Engine;
let armed: number[];
let dispatched: TurnRef[];
/** What happens while an alarm is being set. */
let arming: () => Promise<void>;

beforeEach(async () => {
  clock = await database.turnClock();
  now = await clock.now();
  armed = [];
  arming = async () => {};
  dispatched = [];
  begin();
});

/** Begins an engine. `isBeat`: a cron rings, whatever is armed. */
function begin({ isBeat = false } = {}): void {
  const host = { monotonic: () => now, after: () => () => {} };
  calls = makeCalls({
    query: database.query,
    namespace: "default",
    alarm: async (instants) => {
      await arming();
      armed.push(...instants.map(({ at }) => at));
    },
    isBeat,
    host,
  });
  const dispatch = async (turns: readonly TurnRef[]) => void dispatched.push(...turns);
  engine = new Engine({ calls, dispatch, registry: new Registry([idle, pair, sleeper]), host });
}

async function start(name: string): Promise<string> {
  const runId = v7({ msecs: now });
  await calls.startRun({ runId, workflow: name, version: 1, encodedInput: "0{}" });
  return runId;
}

/** Ticks at the next whole minute, and answers the runs that it dispatched. The platform refuses those of `refused`. */
async function tick(...refused: readonly string[]): Promise<readonly string[]> {
  now = await clock.advance(minute);
  dispatched = [];
  const moved: Move[] = [];
  await engine.tick({ onMoved: (moves) => void moved.push(...moves) });
  await makeDueAgain(
    calls,
    moved.filter(({ runId }) => refused.includes(runId)),
  );
  return dispatched.map(({ runId }) => runId);
}

/** Ticks `count` times, and answers at which of these minutes the run was dispatched. */
async function minutesOf(runId: string, count: number, ...refused: readonly string[]): Promise<readonly number[]> {
  const minutes: number[] = [];
  for (let each = 1; each <= count; each += 1) if ((await tick(...refused)).includes(runId)) minutes.push(each);
  return minutes;
}

async function dueAt(): Promise<number> {
  const { rows } = await database.pool.query("select layover.to_ms(due_at) as due_at from layover.run_state");
  return Number(rows[0]?.due_at);
}

function gaps(minutes: readonly number[]): readonly number[] {
  return minutes.slice(1).map((at, index) => at - (minutes[index] ?? 0));
}

test("what was refused is dispatched at least every two minutes, however long that goes on", async () => {
  const runId = await start("idle");
  expect(Math.max(...gaps(await minutesOf(runId, 60, runId)))).toBeLessThanOrEqual(2);
});

test("so are branches", async () => {
  const runId = await start("pair");
  now = await clock.now();
  await engine.carryOut([{ runId, turn: 1 }]);
  expect(dispatched.map(({ branch }) => branch?.path)).toEqual(["left", "right"]);
  expect(Math.max(...gaps(await minutesOf(runId, 60, runId)))).toBeLessThanOrEqual(2);
});

test("where a cron rings each minute, it is dispatched each minute", async () => {
  begin({ isBeat: true });
  now = await clock.advance(minute / 2); // amid a minute, as it rings
  const runId = await start("idle");
  expect(gaps(await minutesOf(runId, 20, runId)).every((gap) => gap === 1)).toBe(true);
});

test("what was taken and never claimed backs off meanwhile", async () => {
  const [taken, refused] = [await start("idle"), await start("idle")];
  expect(gaps(await minutesOf(taken, 40, refused))).toEqual([1, 2, 4, 8, 16]);
});

test("of a process that is gone before it learns what was refused, the next look comes after two minutes", async () => {
  const runId = await start("idle");
  await minutesOf(runId, 60, runId);
  while (!(await tick()).includes(runId)); // it is gone
  expect((await minutesOf(runId, 10))[0]).toBe(2);
});

test("nor later where the run was due soon anyway, since another branch of it was at work", async () => {
  const runId = await start("pair");
  now = await clock.now();
  await engine.carryOut([{ runId, turn: 1 }]);
  for (let each = 1; each <= 10; each += 1) {
    await database.pool.query(
      `update layover.pending set token = gen_random_uuid(), leased_until = layover.now() + interval '100 s'
        where path = 'left'`,
    );
    await tick(runId);
  }
  await database.pool.query(
    `update layover.pending set token = null, leased_until = null, ready_at = layover.now() + interval '1 day'
      where path = 'left'`,
  );
  while (!(await tick()).includes(runId)); // the process that dispatched it is gone
  expect((await minutesOf(runId, 20))[0]).toBeLessThanOrEqual(2);
});

test("each instant was armed before a run is due then", async () => {
  const runId = await start("idle");
  for (let each = 1; each <= 10; each += 1) {
    await tick(runId);
    expect(armed).toContain(await dueAt());
  }
});

describe("of a run that is looked at rarely by now", () => {
  let runId: string;
  let moved: Move[];

  beforeEach(async () => {
    runId = await start("sleeper");
    moved = [];
    for (let each = 1; each <= 6; each += 1) await tick();
    while (moved.length === 0) {
      now = await clock.advance(minute);
      await engine.tick({ onMoved: (moves) => void moved.push(...moves) });
    }
    expect(await dueAt()).toBeGreaterThan(now + 4 * minute);
  });

  test("the next look comes soon", async () => {
    await makeDueAgain(calls, moved);
    expect(await dueAt()).toBeLessThanOrEqual(now + 2 * minute);
    expect(armed).toContain(await dueAt());
  });

  test("nothing is moved that could not be armed", async () => {
    const before = await dueAt();
    arming = async () => Promise.reject(new Error("no object"));
    await expect(makeDueAgain(calls, moved)).rejects.toThrow();
    expect(await dueAt()).toBe(before);
  });

  test("nothing is moved to an instant that has passed while it was armed", async () => {
    const before = await dueAt();
    arming = async () => {
      now = await clock.advance(2 * minute);
    };
    await makeDueAgain(calls, moved);
    expect(await dueAt()).toBe(before);
  });

  test("it is left alone once it has moved on", async () => {
    await engine.carryOut([{ runId, turn: 1 }]);
    const asleep = await dueAt();
    await makeDueAgain(calls, moved);
    expect(await dueAt()).toBe(asleep);
  });

  test("the next look comes soon, too, where the platform had taken it and it is at work", async () => {
    await database.pool.query(
      "update layover.run_state set status = 'running', token = gen_random_uuid(), leased_until = layover.now() + interval '30 s'",
    );
    await makeDueAgain(calls, moved);
    expect(await dueAt()).toBeLessThanOrEqual(now + 2 * minute);
  });

  test("what is due soon anyway stays due then", async () => {
    await makeDueAgain(calls, moved);
    const soonAt = await dueAt();
    now = await clock.advance(minute / 2); // a run that is due again now would be due a minute later
    await makeDueAgain(
      calls,
      moved.map((move) => ({ ...move, dueAt: soonAt })),
    );
    expect(await dueAt()).toBe(soonAt);
  });
});
