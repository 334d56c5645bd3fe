/** Turns of many runs that one invocation carries out together: what they cost, and that none disturbs another. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { steps } from "./summing.ts";

const database = testDatabase();

describe("a batch of turns", () => {
  test.each([
    ["one claim and one finish a step, where an invocation ends after each", 1, { claim_turns: 3, finish_turns: 3 }],
    ["one claim, and one statement a step", 100, { claim_turns: 1, finish_turns: 3 }],
  ])("is %s, whatever the number of runs", async (_, maxSteps, expected) => {
    const world = await worldOf(database, steps(3), { batch: 100, invocation: { maxSteps } });
    const runs = [];
    for (let number = 0; number < 100; number += 1) runs.push(await world.start(tested));
    const before = world.statements();
    await world.run(...runs);
    expect(world.statements() - before).toBe(expected.claim_turns + expected.finish_turns);
    expect(world.statements("claim_turns")).toBe(expected.claim_turns);
    for (const run of runs) expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: 6 });
  });

  test("carries each run on for itself, where they are about different things", async () => {
    const world = await worldOf(
      database,
      async ({ step, run }) => {
        const first = await step.run("first", () => 1);
        if (run.id === "sleeps") await step.sleep("nap", "1 hour");
        if (run.id === "waits") await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" });
        if (run.id === "fails") throw new Error("fails");
        if (run.id === "retries")
          await step.run("flaky", ({ attempt }) => {
            if (attempt === 1) throw new Error("again");
          });
        if (run.id === "fans out") await step.map("each", [1, 2, 3], (item, { step }) => step.run("it", () => item));
        return first + (await step.run("last", () => 1));
      },
      { batch: 100, invocation: { maxSteps: 100 } },
    );
    const ids = ["goes on", "sleeps", "goes on too", "waits", "fails", "retries", "fans out", "ends"];
    const runs = [];
    for (const id of ids) runs.push(await world.start(tested, undefined, { id }));
    await world.run(...runs);
    const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
    expect(views.map(({ result, status }) => result ?? status)).toEqual([2, 2, 2, 2, "failed", 2, 2, 2]);
    expect(world.errors).toEqual([]);
  });

  test("withholds nobody's result longer than 100 ms, because of one that is slow", async () => {
    const recorded: number[] = [];
    const world = await worldOf(
      database,
      async ({ step, run }) => {
        await step.run("it", () => (run.id === "slow" ? world.foreign("50s") : undefined));
        recorded.push(step.now().getTime() - Date.UTC(2026, 0, 1, 12));
        await step.run("next", () => recorded.push(world.time));
      },
      { batch: 100 },
    );
    const runs = [];
    for (const id of ["quick", "slow", "quick too"]) runs.push(await world.start(tested, undefined, { id }));
    await world.run(...runs);
    expect(recorded.toSorted((a, b) => a - b)).toEqual([0, 0, 100, 100, 50_000, 50_000]);
  });

  test("fails for none but the one that cannot be carried out", async () => {
    const world = await worldOf(database, steps(2), { batch: 100 });
    const runs = [];
    for (let number = 0; number < 5; number += 1) runs.push(await world.start(tested));
    await database.pool.query("update layover.run set input = $1 where id = $2", ["?", runs[2]?.runId]);
    await world.run(...runs);
    const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
    expect(views.map(({ status }) => status)).toEqual(["completed", "completed", "blocked", "completed", "completed"]);
    expect(views[2]?.blocked).toContain("the run's input cannot be read");
  });

  test("holds several branches of one run, and its continuation", async () => {
    const { view, world } = await play(
      database,
      async ({ step }) =>
        step.map(
          "each",
          Array.from({ length: 40 }, (_, index) => index),
          async (item, { step }) => {
            await step.run("first", () => item);
            return step.run("second", () => item);
          },
        ),
      { batch: 100 },
    );
    expect(view.result).toHaveLength(40);
    expect(world.invocations).toBe(5); // the run; 40 first steps; the run; 40 second steps; the run
    expect(world.statements("finish_turns")).toBe(5);
  });
});
