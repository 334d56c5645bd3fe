/** Undos of invoked runs: `compensate` of `step.invoke`. */
import { NonRetryableError } from "layover";
import { describe, expect, test } from "vitest";
import type { Workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, doubling, familiesOn, waiting } from "./families.ts";
import { type TestedHandler, tested } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);

const deletes = (world: World, runId: string) => world.ask((client) => client.delete(runId));

describe("compensate of step.invoke", () => {
  const no = () => new NonRetryableError("no");
  const ways: Record<string, { of: Workflow; handle: (undo: InvokeUndo) => TestedHandler; undone: unknown[] }> = {
    "undoes a run that succeeded, with its result": {
      of: doubling,
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 21 }, { compensate });
          throw no();
        },
      undone: ["42", "succeeded", undefined],
    },
    "undoes a run that failed": {
      of: child.handler(async () => {
        throw new NonRetryableError("down");
      }),
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 1 }, { compensate });
        },
      undone: [undefined, "unknown", "down"],
    },
    "undoes a run that was not over in time": {
      of: waiting,
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 1 }, { compensate, timeout: "1 hour" });
        },
      undone: [undefined, "unknown", undefined],
    },
    "undoes a run that its parent left": {
      of: waiting,
      handle:
        (compensate) =>
        async ({ step }) => {
          const nap = step.sleep("nap", "1 hour").then(() => Promise.reject(no()));
          await Promise.all([step.invoke("it", child, { nr: 1 }, { compensate: { run: compensate } }), nap]);
        },
      undone: [undefined, "unknown", "the run was cancelled: its parent waits for it no more"],
    },
  };
  type InvokeUndo = (
    result: string | undefined,
    context: { outcome: string; error: { message: string } | undefined; original: { runId: string } },
  ) => unknown;

  test.each(Object.entries(ways))("%s", async (_, { of, handle, undone }) => {
    const told: unknown[] = [];
    const world = await family(
      handle((result, { outcome, error, original }) => told.push([result, outcome, error?.message, original.runId])),
      of,
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
    expect(told).toEqual([[...undone, (await childrenOf(world))[0]?.runId]]);
  });

  test("undoes no run that could not be started", async () => {
    const told: unknown[] = [];
    const world = await family(async ({ step }) => {
      await step.invoke("it", child, { nr: 1 }, { id: "a1", compensate: () => told.push("undone") });
    });
    await world.start(child, { nr: 1 }, { id: "a1" });
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "failed" });
    expect(told).toEqual([]);
  });

  const restarts = async (world: World, runId: string) => {
    await world.ask((client) => client.pause(runId));
    await world.ask((client) => client.restart(runId));
  };
  const goesOn = (world: World, runId: string) =>
    world.ask((client) => client.signal(runId, "go", null, { contract: tested }));
  test.each([
    ["of before a restart", "", restarts, async () => {}],
    ["of before a restart", ", also where that is deleted", restarts, deletes],
    ["of an earlier lap", ", also where that is deleted", goesOn, deletes],
  ] as const)("undoes no run %s that the run did not start again%s", async (_what, _where, begins, remove) => {
    const told: unknown[] = [];
    const world = await family(async ({ step }) => {
      const compensate = () => told.push("undone");
      await step.race("lap", [
        ({ step }) =>
          step.map("each", [1, 2], (nr, { step }) => step.invoke("it", child, { nr }, { compensate }), {
            maxConcurrency: 1,
          }),
        ({ step }) => step.waitForSignal("go"),
      ]);
      await step.continueAsNew();
    }, waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    const [first] = await childrenOf(world);
    await world.ask((client) => client.signal(first?.runId ?? "", "go", null, { contract: child }));
    await world.pass("1 hour");
    const second = (await childrenOf(world)).find(({ status }) => status === "waiting");
    await begins(world, run.runId);
    await world.pass("3 minutes");
    const invoked = new Map((await childrenOf(world)).map(({ runId, status }) => [runId, status]));
    expect([invoked.size, invoked.get(second?.runId ?? "")]).toEqual([3, "cancelled"]);
    await remove(world, second?.runId ?? "");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect(told).toHaveLength(1);
  });
});
