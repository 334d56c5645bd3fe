/** Runs that grow too long: the limits of a history. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("the limits of a history", () => {
  test("end a run at 10,000 records", async () => {
    const world = await worldOf(database, async ({ step }) => {
      for (;;) await step.sleep("nothing", 0);
    });
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", records: 10_001, error: { code: "history_limit" } });
  });

  test("refuse a map of 200,000 branches when it is asked for, before any of them is carried out", async () => {
    let asked = 0;
    let bodies = 0;
    const { view } = await play(database, async ({ step }) => {
      await step.run("list", () => 1);
      const items = Array.from({ length: 200_000 }, (_, index) => index);
      await step.map("all", items, (_, inside) => {
        asked += 1;
        return inside.step.run("one", () => ++bodies);
      });
    });
    expect(asked).toBe(10_000);
    expect(view).toMatchObject({
      status: "failed",
      records: 2,
      error: {
        code: "history_limit",
        message: "the handler asks for more than 9999 steps and waits at once, and its history has no more room",
        data: { details: { records: 1, limit: 10_000 } },
      },
    });
    expect(bodies).toBe(0);
    const { rows } = await database.pool.query("select count(*)::int as rows from layover.pending where run_id = $1", [
      view.runId,
    ]);
    expect(rows).toEqual([{ rows: 0 }]);
  });

  test("let a run ask for as many at once as its history still holds", async () => {
    const { view } = await play(database, async ({ step }) => {
      await step.run("list", () => 1);
      const items = Array.from({ length: 9_999 }, (_, index) => index);
      await step.race("any", [
        ({ step }) => step.sleep("short", "1s"),
        ({ step }) => step.map("naps", items.slice(1), (_, inside) => inside.step.sleep("nap", "1 hour")),
      ]);
      return "in time";
    });
    expect(view).toMatchObject({ status: "completed", result: "in time", records: 2 });
  });

  test("end a run at 16 MiB", async () => {
    const { view } = await play(
      database,
      async ({ step }) => {
        for (let number = 0; number < 30; number += 1) await step.run("it", () => "x".repeat(1_000_000));
      },
      { invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject({ status: "failed", records: 18, error: { code: "history_limit" } });
  });
});
