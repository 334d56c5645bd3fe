/**
 * A platform that refuses what a tick dispatches, for hours: whoever learns of it has the tick's moves taken back, so that
 * these runs are looked at again and again, while what was taken and never claimed backs off.
 */
import { v7 } from "uuid";
import { beforeEach, expect, test } from "vitest";
import { workflow } from "../../src/core/contract.ts";
import type { TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { lookAgain } from "../../src/engine/tick.ts";
import { Calls } from "../../src/postgres/calls.ts";
import type { Move } from "../../src/postgres/wire.ts";
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

beforeEach(async () => {
  clock = await database.turnClock();
  now = await clock.now();
  armed = [];
  dispatched = [];
  const host = { monotonic: () => now, after: () => () => {} };
  calls = new Calls({
    query: database.query,
    namespace: "default",
    alarm: async (instants) => void armed.push(...instants.map(({ at }) => at)),
    host,
  });
  const dispatch = async (turns: readonly TurnRef[]) => void dispatched.push(...turns);
  engine = new Engine({ calls, dispatch, workflows: [idle, pair, sleeper], host });
});

async function start(name: string): Promise<string> {
  const runId = v7();
  await calls.startRun({ runId, workflow: name, version: 1, encodedInput: "0{}" });
  return runId;
}

/** A tick at the next whole minute. Of what it dispatches to these runs nobody is told. */
async function tick(...refused: readonly string[]): Promise<readonly string[]> {
  now = await clock.advance(minute);
  dispatched = [];
  const moved: Move[] = [];
  await engine.tick({ onMoved: (moves) => void moved.push(...moves) });
  await lookAgain(
    calls,
    moved.filter(({ runId }) => refused.includes(runId)),
  );
  return dispatched.map(({ runId }) => runId);
}

/** At which of so many minutes a run was dispatched. */
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

test("each instant was armed before a run is due then", async () => {
  const runId = await start("idle");
  for (let each = 1; each <= 10; each += 1) {
    await tick(runId);
    expect(armed).toContain(await dueAt());
  }
});

test("a run that has moved on since is left alone", async () => {
  const runId = await start("sleeper");
  for (let each = 1; each <= 6; each += 1) await tick();
  const moved: Move[] = [];
  while (moved.length === 0) {
    now = await clock.advance(minute);
    await engine.tick({ onMoved: (moves) => void moved.push(...moves) });
  }
  await engine.carryOut([{ runId, turn: 1 }]);
  const asleep = await dueAt();
  await lookAgain(calls, moved);
  expect(await dueAt()).toBe(asleep);
});
