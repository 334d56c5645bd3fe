/** `step.continueAsNew`: a run that ends its history and begins the next one. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { cancel } from "./cancelling.ts";
import { World } from "./world.ts";
import type { Fate, WorldOptions } from "./world-options.ts";

const database = testDatabase();
const second = 1_000;

const counting = workflow({
  name: "counting",
  version: 1,
  timeout: "30 days",
  input: z.object({ from: z.number(), to: z.number() }),
  output: z.number(),
  signals: { item: z.string() },
});
type Handle = Parameters<typeof counting.handler>[0];

async function worldOf(handle: Handle, options: Partial<WorldOptions> = {}) {
  return await World.begin(database, { ...options, workflows: [counting.handler(handle)] });
}

test("the next history begins with the new input, and the run keeps its id, its tags and its start's input", async () => {
  const world = await worldOf(async ({ input, step, run }) => {
    await step.run("count", () => input.from);
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return Number(run.tags["base"]) + input.from;
  });
  const input = { from: 1, to: 4 };
  const run = await world.start(counting, input, { id: "c1", tags: { base: "100" } });

  expect(await world.run(run)).toMatchObject({ runId: run.runId, status: "completed", result: 104, epoch: 3 });
  const { records, epochs, epoch } = await world.history(run);
  expect(records).toMatchObject([{ path: "count", position: 1, value: 4 }]);
  expect({ epoch, epochs }).toMatchObject({
    epoch: 3,
    epochs: [{ epoch: 2 }, { epoch: 3, why: "continued", kept: 0 }],
  });
  // Starting again with the id and the first input finds the run.
  expect((await world.start(counting, input, { id: "c1" })).isNew).toBe(false);
});

test("what it draws and its clock are those of the new history", async () => {
  const seen: unknown[] = [];
  const world = await worldOf(async ({ input, step }) => {
    seen.push([input.from, step.uuid(), step.now().getTime()]);
    await step.sleep("nap", "1 hour");
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return 0;
  });
  const run = await world.start(counting, { from: 1, to: 2 });
  await world.run(run);
  const drawn = new Map(seen.map((one) => [JSON.stringify(one), one] as const));
  expect(drawn.size).toBe(2);
  const times = [...drawn.values()].map((one) => (one as [number, string, number])[2]);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(3_600 * second);
});

test("signals that it has not taken wait for the next history, in their order", async () => {
  const world = await worldOf(async ({ input, step }) => {
    const item = await step.waitForSignal("item");
    const got = Number(item);
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return got;
  });
  const run = await world.start(counting, { from: 1, to: 3 });
  for (const item of ["1", "2", "3"]) await world.signal(run, counting, "item", item);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 3, epoch: 2, untaken: {} });
});

test("a name that was closed is open again", async () => {
  const world = await worldOf(async ({ input, step }) => {
    await step.close("item");
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    await step.sleep("nap", "1 hour");
    return 0;
  });
  const run = await world.start(counting, { from: 1, to: 1 });
  await world.pass("1 minute");
  await expect(world.signal(run, counting, "item", "late")).rejects.toMatchObject({ code: "signal_closed" });
  const other = await worldOf(async ({ input, step }) => {
    if (input.from === 1) {
      await step.close("item");
      await step.continueAsNew({ from: 2, to: 2 });
    }
    return Number(await step.waitForSignal("item"));
  });
  const lap = await other.start(counting, { from: 1, to: 2 });
  await other.pass("1 minute");
  await other.signal(lap, counting, "item", "7");
  expect(await other.run(lap)).toMatchObject({ status: "completed", result: 7 });
});

test("what it still waits for is dropped: a branch at work is not recorded, and a sleep ends nothing", async () => {
  let laps = 0;
  const world = await worldOf(async ({ input, step }) => {
    laps += 1;
    if (input.from < input.to) {
      await step.race("both", [
        ({ step }) => step.sleep("long", "10 days"),
        async ({ step }) => {
          await step.sleep("short", "1 minute");
          return await step.continueAsNew({ from: input.from + 1, to: input.to });
        },
      ]);
    }
    await step.sleep("nap", "1 minute");
    return input.from;
  });
  const run = await world.start(counting, { from: 1, to: 2 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 2, epoch: 1 });
  expect(laps).toBeGreaterThanOrEqual(2);
  const { pending } = await world.history(run);
  expect(pending).toEqual([]);
});

test.each([0, 10])(
  "what its handler would do afterwards is never done, also in a turn that is repeated (%i runs stay in memory)",
  async (warmRuns) => {
    const done: string[] = [];
    let begun = 0;
    const world = await worldOf(
      async ({ input, step }) => {
        begun += 1;
        await step.sleep("nap", "1 minute");
        if (input.from === input.to) return input.from;
        const next = step.continueAsNew({ from: input.from + 1, to: input.to });
        next.then(
          () => done.push("then"),
          () => done.push("rejected"),
        );
        try {
          return await next;
        } catch (error) {
          done.push("catch");
          throw error;
        } finally {
          done.push("finally");
        }
      },
      { warmRuns },
    );
    world.fate = ({ what, number }) => (what === "finish_turns" && number % 3 === 2 ? "dies before" : "passes");
    const run = await world.start(counting, { from: 1, to: 4 });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 4, epoch: 3 });
    expect(begun).toBeGreaterThan(4);
    expect(done).toEqual([]);
  },
);

test("the run's timeout spans all its histories", async () => {
  const world = await worldOf(async ({ input, step }) => {
    await step.sleep("nap", "10 days");
    return await step.continueAsNew({ from: input.from + 1, to: input.to });
  });
  const run = await world.start(counting, { from: 1, to: 100 });
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  expect(world.time).toBeLessThan(31 * 86_400 * second);
});

test("a cancel that came before it drops the continuation, and the handler is told", async () => {
  const told: unknown[] = [];
  const world = await worldOf(async ({ input, step }) => {
    await step.sleep("nap", "1 hour");
    try {
      return await step.continueAsNew({ from: input.from + 1, to: input.to });
    } catch (error) {
      told.push(error);
      throw error;
    }
  });
  const run = await world.start(counting, { from: 1, to: 9 });
  world.fate = async ({ what }): Promise<Fate> => {
    if (what !== "finish_turns" || world.time < 3_000 * second) return "passes";
    world.fate = () => "passes";
    await database.pool.query("select layover.cancel_run($1)", [
      JSON.stringify({ runId: run.runId, namespace: world.namespace }),
    ]);
    return "passes";
  };
  expect(await world.run(run)).toMatchObject({ status: "cancelled", epoch: 0 });
  expect(told).toMatchObject([{ name: "CancelledError" }]);
});

test("a run that is cancelled does not continue, though its handler asks for it then", async () => {
  const told: unknown[] = [];
  const world = await worldOf(async ({ input, step }) => {
    try {
      await step.sleep("nap", "1 hour");
    } catch {
      await step.continueAsNew({ from: input.from + 1, to: input.to }).catch((error: unknown) => told.push(error));
    }
    return input.from;
  });
  const run = await world.start(counting, { from: 1, to: 9 });
  await world.pass("1 minute");
  await cancel(world, run);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", epoch: 0 });
  expect(told).toMatchObject([{ name: "CancelledError" }]);
});

test("an input that the contract's schema refuses is thrown, and the run goes on", async () => {
  const world = await worldOf(async ({ step }) => {
    // @ts-expect-error: it is no number
    const refused: unknown = await step.continueAsNew({ from: "one", to: 2 }).catch((error: unknown) => error);
    await step.run("after", () => 1);
    return (refused as { code?: string }).code === "invalid_input" ? 1 : 0;
  });
  const run = await world.start(counting, { from: 1, to: 1 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 1, epoch: 0 });
});

test("a run that continues at once again and again is slowed down to a lap a minute and tells so, and one that waits is not", async () => {
  const world = await worldOf(async ({ input, step }) => {
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return input.from;
  });
  const run = await world.start(counting, { from: 1, to: 9 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 9 });
  expect(world.time).toBeGreaterThan(182 * second);
  const slowed = world.events.filter((event) => event.kind === "run_slowed");
  const seconds = slowed.map(({ at, until }) => Math.round((until.getTime() - at.getTime()) / second));
  expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  const patient = await worldOf(async ({ input, step }) => {
    await step.sleep("nap", "1 second");
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return input.from;
  });
  const other = await patient.start(counting, { from: 1, to: 9 });
  await patient.run(other);
  expect(patient.time).toBeLessThan(60 * second);
  expect(patient.events.map(({ kind }) => kind)).not.toContain("run_slowed");
});

test("a run that continues again and again keeps two histories", async () => {
  const world = await worldOf(async ({ input, step }) => {
    await step.run("a", () => "a");
    await step.sleep("nap", "1 minute");
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return input.from;
  });
  const run = await world.start(counting, { from: 1, to: 12 });
  await world.run(run);
  const { rows } = await database.pool.query(
    `select (select count(*)::integer from layover.record where run_id = $1) as records,
       (select count(*)::integer from layover.epoch where run_id = $1) as epochs`,
    [run.runId],
  );
  expect(rows).toEqual([{ records: 4, epochs: 2 }]);
});

test("a finish that continues and comes twice continues once", async () => {
  const world = await worldOf(async ({ input, step }) => {
    await step.sleep("nap", "1 minute");
    if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
    return input.from;
  });
  world.fate = ({ port, what, number }) =>
    port === "query" && what === "finish_turns" && number % 2 === 1 ? "fails after" : "passes";
  const run = await world.start(counting, { from: 1, to: 5 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 5, epoch: 4 });
});

test("an invocation that carries out many steps begins the next history with a new handler", async () => {
  const workflows = [
    counting.handler(async ({ input, step }) => {
      await step.sleep("nap", "1 minute");
      await step.run("a", () => "a");
      if (input.from < input.to) await step.continueAsNew({ from: input.from + 1, to: input.to });
      return input.from;
    }),
  ];
  const world = await World.begin(database, { workflows, invocation: { maxSteps: 100 }, warmRuns: 10 });
  const run = await world.start(counting, { from: 1, to: 4 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 4, epoch: 3 });
  expect(world.time).toBeGreaterThanOrEqual(4 * 60 * second);
});
