/** How runs end: by what they give and by what they throw, or by an input that does not fit. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a run", () => {
  test("without any step ends in one invocation", async () => {
    const { view, world } = await play(database, async () => "at once");
    expect(view).toMatchObject({ status: "completed", result: "at once", records: 0 });
    expect(world.invocations).toBe(1);
  });

  test("fails with what its handler throws", async () => {
    const { view } = await play(database, async ({ step }) => {
      await step.run("a", () => 1);
      throw Object.assign(new RangeError("out of it"), { code: "E_OUT", data: { at: 1 } });
    });
    expect(view).toMatchObject({
      status: "failed",
      error: { name: "RangeError", message: "out of it", code: "E_OUT", data: { at: 1 } },
    });
  });

  test("fails when its handler throws before its first step", async () => {
    const { view } = await play(database, () => {
      throw new Error("not even async");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "not even async" } });
  });

  test("fails when its result cannot be stored, and names the place in it", async () => {
    const { view } = await play(database, async () => ({ a: [new WeakMap()] }));
    expect(view).toMatchObject({ status: "failed", error: { code: "unstorable_value" } });
    expect(view.error?.message).toContain("a[0]");
  });

  test("gives what the output schema makes of its result, and fails where that refuses it", async () => {
    const contract = workflow({
      name: "typed",
      version: 1,
      input: z.number(),
      output: z.number().max(10).transform(String),
    });
    const world = await World.begin(database, { workflows: [contract.handler(async ({ input }) => input * 2)] });
    const [small, large] = [await world.start(contract, 5), await world.start(contract, 50)];
    expect(await world.run(small, large)).toMatchObject({ status: "completed", result: "10" });
    expect(await world.get(large.runId)).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
  });

  test("knows what it was started with", async () => {
    const contract = workflow({ name: "told", version: 3, input: z.object({ at: z.date() }) });
    const world = await World.begin(database, {
      workflows: [contract.handler(async ({ input, run }) => ({ input, run }))],
    });
    const run = await world.start(contract, { at: new Date(7) }, { id: "mine", tags: { customer: "c1" } });
    expect((await world.run(run)).result).toEqual({
      input: { at: new Date(7) },
      run: {
        runId: run.runId,
        id: "mine",
        workflow: "told",
        version: 3,
        tags: { customer: "c1" },
        createdAt: new Date(Date.UTC(2026, 0, 1, 12)),
      },
    });
  });

  test("begins when its delay is over", async () => {
    const world = await worldOf(database, async ({ step }) => step.now());
    const run = await world.start(tested, undefined, { delay: "3 hours" });
    await world.pass("1 hour");
    expect(world.invocations).toBe(0);
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBe(3 * 3_600_000);
  });
});

describe("a run started from SQL", () => {
  const contract = workflow({ name: "checked", version: 1, input: z.object({ n: z.coerce.number() }) });
  const begin = async () =>
    World.begin(database, { workflows: [contract.handler(async ({ input, step }) => step.run("it", () => input))] });
  const startBySql = async (world: World, input: unknown) => {
    const call = JSON.stringify({ namespace: world.namespace, workflow: "checked", version: 1, input });
    const [row] = await database.query("select layover.start_run($1) as answer", [call]);
    return { runId: String(Reflect.get(Object(row?.["answer"]), "runId")) };
  };

  test("has its input parsed in its first turn", async () => {
    const world = await begin();
    const run = await startBySql(world, { n: "7" });
    await world.tick();
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { n: 7 } });
  });

  test("fails with invalid_input where the schema refuses it, and no step is carried out", async () => {
    const world = await begin();
    const run = await startBySql(world, { n: "seven" });
    await world.tick();
    expect(await world.run(run)).toMatchObject({ status: "failed", records: 0, error: { code: "invalid_input" } });
    expect(world.invocations).toBe(1);
  });
});
