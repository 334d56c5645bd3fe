/** A database that fails to fire schedules, or to look for what is due: the others fire, and runs go on. Nothing here carries out a run. */
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import {
  aRunDue,
  begin,
  breakDown,
  due,
  errors,
  fired,
  firings,
  isArmedSoon,
  pass,
  refuse,
  stage,
  tick,
} from "./ticking.ts";

const database = testDatabase({ perTest: true });

beforeEach(async () => await begin(database));

describe("a database that refuses to fire", () => {
  test("does not stop runs that are due: they are dispatched, the error is told, and a tick comes within two minutes", async () => {
    await due(3);
    const runId = await aRunDue();
    await breakDown("fire_schedules", "(p jsonb) returns json");
    expect(await tick()).toMatchObject({ due: 1, dispatched: 1 });
    expect(stage.dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual([
      "firing the schedule s00001",
      "firing the schedule s00002",
      "firing the schedule s00003",
    ]);
    expect(isArmedSoon()).toBe(true);
  });

  test("one schedule fires the others, also those that come after a whole page", async () => {
    await due(1_100);
    await refuse("new.name = 's00007'");
    await tick();
    expect(await fired()).toBe(1_099);
    expect(errors()).toEqual(["firing the schedule s00007"]);
    expect(isArmedSoon()).toBe(true);
  });

  test("any of many is asked some sixty times a tick, and no oftener", async () => {
    await due(1_100);
    await refuse("true");
    await tick();
    expect(firings()).toBeGreaterThanOrEqual(60);
    expect(firings()).toBeLessThan(70);
    expect(isArmedSoon()).toBe(true);
  });

  test("since it cannot compute an instant does not stop runs that are due", async () => {
    await due(1);
    const runId = await aRunDue();
    await breakDown("next_instant", "(name text, definition jsonb, after timestamptz) returns timestamptz");
    await tick();
    expect(stage.dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual(["firing the schedule s00001"]);
  });
});

describe("a database that does not answer when it fires", () => {
  /** No answer comes, and the time of the tick is over. */
  const silence = async () => {
    await new Promise(setImmediate); // whoever waits has set its timer by then
    for (const act of stage.timers) act();
    await new Promise(() => {});
  };

  test("one schedule fires the others: each half of the page is asked by itself, with a time limit of its own", async () => {
    await due(5);
    const runId = await aRunDue();
    stage.before = async (name, _, parameter) => {
      if (name === "fire_schedules" && JSON.parse(parameter).names.includes("s00002")) await silence();
    };
    expect(await tick()).toMatchObject({ due: 1 });
    expect(await fired()).toBe(4);
    expect(stage.dispatched.map((ref) => ref.runId)).toContain(runId);
    expect(errors()).toEqual(["firing the schedule s00002"]);
    expect(isArmedSoon()).toBe(true);
    stage.before = async () => {};
    await pass(1);
    await tick();
    expect(await fired()).toBe(5);
  });

  test("though it has fired starts no run twice, and all of them are dispatched", async () => {
    await due(5);
    stage.after = async (name, number) => {
      if (name === "fire_schedules" && number === 1) await silence();
    };
    await tick();
    expect(await fired()).toBe(5);
    expect(new Set(stage.dispatched.map(({ runId }) => runId)).size).toBe(5);
    expect(errors()).toEqual([]);
  });
});

describe("a database that cannot list what is due", () => {
  const broken = { runs: "group_size", schedules: "list_due_schedules" } as const;
  const shapes = {
    runs: "(lost integer, spared integer, is_leased boolean) returns integer",
    schedules: "(p jsonb, at timestamptz) returns json",
  } as const;
  const breakList = async (what: "runs" | "schedules") => await breakDown(broken[what], shapes[what]);

  test("since the list of runs fails fires schedules all the same", async () => {
    await due(1_100);
    await aRunDue();
    await breakList("runs");
    await expect(tick()).rejects.toThrow("broken");
    expect(await fired()).toBe(1_100);
    expect([errors(), stage.dispatched.length]).toEqual([[], 1_100]);
    expect(isArmedSoon()).toBe(true);
  });

  test("since the list of schedules fails dispatches runs all the same, and tells of it", async () => {
    await due(3);
    const runId = await aRunDue();
    await breakList("schedules");
    expect(await tick()).toMatchObject({ due: 1, dispatched: 1 });
    expect(stage.dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual(["looking for what is due", "firing schedules"]);
    expect(isArmedSoon()).toBe(true);
  });

  test("since both lists fail tells of both", async () => {
    await due(3);
    await aRunDue();
    await breakList("runs");
    await breakList("schedules");
    await expect(tick()).rejects.toThrow("broken");
    expect(errors()).toEqual(["firing schedules"]);
    expect(isArmedSoon()).toBe(true);
  });
});

test("a database that refuses to move runs on does not stop schedules", async () => {
  await due(1);
  await aRunDue();
  await breakDown("move_due", "(p jsonb) returns json");
  await expect(tick()).rejects.toThrow("broken");
  expect(await fired()).toBe(1);
});
