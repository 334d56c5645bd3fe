/** `step.setStatus`: what a run says of itself. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { cancel } from "./cancelling.ts";
import { play, tested, worldOf } from "./playing.ts";
import { recordBranch } from "./recording.ts";
import { World } from "./world.ts";

const database = testDatabase();

test("what a run says of itself is told, any value that can be stored, and stays when the run is over", async () => {
  const at = new Date("2026-01-01");
  const world = await worldOf(database, async ({ step }) => {
    step.setStatus("waits for the night");
    await step.sleep("nap", "1 hour");
    step.setStatus({ packed: 3, at });
  });
  const run = await world.start(tested);
  await world.pass("1 minute");
  expect(await world.get(run.runId)).toMatchObject({ status: "sleeping", customStatus: "waits for the night" });
  expect(await world.run(run)).toMatchObject({ status: "completed", customStatus: { packed: 3, at } });
});

test("a run that says nothing of itself has no status of its own, and undefined takes it back", async () => {
  expect((await play(database, async () => {})).view.customStatus).toBeUndefined();
  const { view } = await play(database, async ({ step }) => {
    step.setStatus("a");
    await step.sleep("nap", "1 hour");
    step.setStatus(undefined);
  });
  expect(view.customStatus).toBeUndefined();
});

test("what a run says of itself leaves no record and needs no further statement", async () => {
  const told = async (says: boolean) => {
    const { world, run } = await play(database, async ({ step }) => {
      for (const name of ["a", "b", "c"]) {
        if (says) step.setStatus(name);
        await step.run(name, () => name);
      }
    });
    const { records } = await world.history(run);
    return {
      records: records.length,
      calls: world.calls.filter(({ port }) => port === "query").map(({ what }) => what),
    };
  };
  expect(await told(true)).toEqual(await told(false));
});

test.each([
  ["in memory", {}],
  ["replayed at every turn", { warmRuns: 0 }],
  ["several steps an invocation", { invocation: { maxSteps: 5 } }],
])("a replay does not set back what was said since, also by a body: %s", async (_, options) => {
  const world = await worldOf(
    database,
    async ({ step }) => {
      step.setStatus("begins");
      await step.run("pack", () => step.setStatus("packed"));
      await step.sleep("nap", "1 hour");
      await step.sleep("night", "8 hours");
    },
    options,
  );
  const run = await world.start(tested);
  await world.pass("2 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "sleeping", customStatus: "packed" });
  expect(await world.run(run)).toMatchObject({ status: "completed", customStatus: "packed" });
});

test.each([
  ["the run's own turn", false],
  ["a branch", true],
])("what a body says of the run is told while the body goes on, in %s", async (_, isBranch) => {
  const world = await worldOf(database, async ({ step }) => {
    const pack = step.run("pack", async () => {
      await world.foreign("2 seconds"); // until nothing else is at work
      step.setStatus("half of it is packed");
      await world.foreign("50 seconds");
      step.setStatus("nearly done");
    });
    await (isBranch ? Promise.all([pack, step.run("label", () => 1)]) : pack);
  });
  const run = await world.start(tested);
  await world.pass("45 seconds");
  expect(await world.get(run.runId)).toMatchObject({ customStatus: "half of it is packed" });
  expect(await world.run(run)).toMatchObject({ status: "completed", customStatus: "nearly done" });
});

test("what was said by the position that a deferred finish saw is kept, and is not said again", async () => {
  const world: World = await worldOf(database, async ({ step }) => {
    const beside = step.run("beside", () => world.foreign("10s"));
    await step.run("quick", () => 1);
    step.setStatus("quick is done");
    await beside;
  });
  const run = await world.start(tested);
  const sees = "select from layover.run_state where run_id = $1 and last_position = 1 and status = 'running'";
  let deferrals = 0;
  world.fate = async ({ what }) => {
    const isSeen = what === "finish_turns" && (await database.query(sees, [run.runId])).length > 0;
    if (isSeen && deferrals++ === 0) await recordBranch(database, run.runId, world.namespace);
    return "passes" as const;
  };
  expect(await world.run(run)).toMatchObject({ status: "completed", customStatus: "quick is done" });
  expect(deferrals).toBe(1);
});

test("a process that dies takes nothing back: the next one says it again", async () => {
  const { world, run, view } = await play(database, async ({ step }, world) => {
    step.setStatus("begins");
    await step.run("a", () => 1);
    step.setStatus("a is done");
    await step.run("b", () => {
      return world.deaths === 0 ? world.die() : undefined;
    });
    await step.sleep("nap", "1 hour");
  });
  expect(world.deaths).toBe(1);
  expect([run.runId, view.customStatus]).toEqual([view.runId, "a is done"]);
});

test("what a run says of itself is at most 1 KiB, and can be stored", async () => {
  const errors: unknown[] = [];
  const tried = (act: () => void) => {
    try {
      act();
    } catch (error) {
      errors.push(error);
    }
  };
  await play(database, async ({ step }) => {
    tried(() => step.setStatus("x".repeat(1021)));
    tried(() => step.setStatus("é".repeat(511)));
    tried(() => step.setStatus((() => {}) as unknown));
  });
  expect(errors).toMatchObject([{ code: "value_too_large" }, { code: "unstorable_value" }]);
});

test("a cleanup tells of itself, too", async () => {
  const world = await worldOf(database, async ({ step }) => {
    try {
      await step.sleep("nap", "1 hour");
    } finally {
      await step.cleanup("tidy", async ({ step }) => step.setStatus("tidies up"));
    }
  });
  const run = await world.start(tested);
  await world.pass("1 minute");
  await cancel(world, run);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", customStatus: "tidies up" });
});

test("what a contract's status schema makes of a value is stored, and what does not fit it is refused", async () => {
  const errors: unknown[] = [];
  const tried = (action: () => void) => {
    try {
      action();
    } catch (error) {
      errors.push(error);
    }
  };
  const status = z.object({ shipped: z.number(), of: z.number().default(10) });
  const parcel = workflow({ name: "parcel", version: 1, status });
  const late = workflow({ name: "late", version: 1, status: z.string().refine(async () => true) });
  const world = await World.begin(database, {
    workflows: [
      parcel.handler(async ({ step }) => {
        step.setStatus({ shipped: 1 });
        tried(() => step.setStatus({ shipped: "two" } as never));
        await step.scope("room", async ({ step }) => tried(() => step.setStatus("three" as never)));
      }),
      late.handler(async ({ step }) => tried(() => step.setStatus("four"))),
    ],
  });
  const view = await world.run(await world.start(parcel));
  expect(view).toMatchObject({ status: "completed", customStatus: { shipped: 1, of: 10 } });
  expect((await world.run(await world.start(late))).customStatus).toBeUndefined();
  const code = "invalid_status";
  expect(errors).toMatchObject([{ code, details: { path: "shipped" } }, { code }, { code }]);
});
