/** Schedules in great number that are due at one instant. Nothing here carries out a run. */
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { isWhole } from "../size.ts";
import { begin, due, fired, firings, isArmedSoon, page, stage, tick } from "./ticking.ts";

const database = testDatabase({ perTest: true });

beforeEach(async () => await begin(database));

describe("schedules that are due at one instant", () => {
  const count = isWhole ? 10_000 : 1_200;

  test("fire in one tick, a statement each 500", { timeout: 600_000 }, async () => {
    await due(count);
    const { isCutShort } = await tick();
    expect(await fired()).toBe(count);
    expect(new Set(stage.dispatched.map(({ runId }) => runId)).size).toBe(count);
    expect([stage.sent.filter((name) => name === "list_due").length, firings()]).toEqual([1, Math.ceil(count / page)]);
    expect(isCutShort).toBe(false);
    await tick();
    expect(firings()).toBe(0);
  });

  test("fire as far as the tick may dispatch, a page at least, and the rest in the next one", async () => {
    await due(1_200);
    expect((await tick({ turns: 400, groups: 1 })).isCutShort).toBe(true);
    expect(isArmedSoon()).toBe(true);
    expect(await fired()).toBe(1_000);
    expect((await tick({ turns: 400, groups: 1 })).isCutShort).toBe(false);
    expect(await fired()).toBe(1_200);
  });

  test("fire for 40 seconds at most, and the rest comes in the next tick", async () => {
    await due(1_700);
    stage.firingMs = 15_000;
    expect((await tick()).isCutShort).toBe(true);
    expect(isArmedSoon()).toBe(true);
    expect(await fired()).toBe(1_500);
  });

  test("wait for nobody: those that somebody has locked are left to the next tick, and asked for once", async () => {
    await due(600);
    const holder = await database.pool.connect();
    try {
      await holder.query("begin");
      await holder.query("select from layover.schedule where name <= 's00010' for update");
      await tick();
      expect([await fired(), firings()]).toEqual([590, 2]);
      expect(isArmedSoon()).toBe(true);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await tick();
    expect(await fired()).toBe(600);
  });
});
