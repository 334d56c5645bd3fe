/** A run's timeout while a step is under way: the body is told, its result is kept, and the run ends as timed out. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import type { RunView } from "../../src/client/run-view.ts";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const timed = workflow({ name: "timed", version: 1, timeout: "10s" });
type Handle = Parameters<typeof timed.handler>[0];
type Step = Parameters<Handle>[0]["step"];
type Body = Parameters<Step["run"]>[1];
type Options = Parameters<Step["run"]>[2];

async function playTimed(handle: (context: Parameters<Handle>[0], world: World) => Promise<unknown>) {
  const world: World = await World.begin(database, { workflows: [timed.handler((context) => handle(context, world))] });
  const run = await world.start(timed);
  return { world, run };
}

function expectTimedOut(view: RunView): void {
  expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
}

describe.each([
  ["alone", async (step: Step, body: Body, options?: Options) => step.run("it", body, options)],
  [
    "beside another",
    async (step: Step, body: Body, options?: Options) => {
      const [result] = await Promise.all([step.run("it", body, options), step.run("other", () => 0)]);
      return result;
    },
  ],
])("a step %s that is under way at its run's timeout", (_, runIt) => {
  test("is told by its abort signal; what it gives then is recorded, and the run has timed out", async () => {
    const reasons: unknown[] = [];
    const { world, run } = await playTimed(async ({ step }, world) => {
      await runIt(step, async ({ abortSignal }) => {
        abortSignal.addEventListener("abort", () => reasons.push([world.time, abortSignal.reason.code]));
        await world.foreign("12s");
        return "charged";
      });
    });
    expectTimedOut(await world.run(run));
    expect(world.time).toBe(12_000);
    expect(reasons).toEqual([[10_000, "run_timeout"]]);
    const { records } = await world.history(run);
    expect(records.find(({ path }) => path === "it")).toMatchObject({ isFailure: false, value: "charged" });
    expect(records.at(-1)).toMatchObject({ kind: "closing", value: { message: "the run was cancelled: timeout" } });
  });

  test.each([1, 5])(
    "may fail over it: its handler meets the timeout, no failed step (%i attempts)",
    async (maxAttempts) => {
      const met: string[] = [];
      let bodies = 0;
      const { world, run } = await playTimed(async ({ step }) => {
        try {
          await runIt(
            step,
            ({ abortSignal }) => {
              bodies += 1;
              return new Promise((_, reject) => {
                abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
              });
            },
            { retry: { maxAttempts } },
          );
        } catch (error) {
          met.push(error instanceof Error ? error.name : "");
          throw error;
        }
      });
      expectTimedOut(await world.run(run));
      expect(world.time).toBe(10_000);
      expect(bodies).toBe(1);
      expect(new Set(met)).toEqual(new Set(["CancelledError"]));
      const { attempts } = await world.history(run);
      expect(attempts).toMatchObject([{ path: "it", number: 1, error: { code: "run_timeout" } }]);
    },
  );

  test.each([
    ["its own timeout", "30s", 30_000],
    ["a minute later", "10 minutes", 70_000],
  ])("and does not end counts as begun, its result unknown: %s", async (_when, timeout, at) => {
    const { world, run } = await playTimed(async ({ step }, world) => {
      await runIt(step, () => world.foreign(), { timeout: timeout === "30s" ? "30s" : "10 minutes" });
    });
    expectTimedOut(await world.run(run));
    expect(world.time).toBe(at);
    const { attempts, records } = await world.history(run);
    expect(attempts).toMatchObject([{ path: "it", number: 1, error: { code: "result_unknown" } }]);
    expect(records.find(({ path }) => path === "it")).toBeUndefined();
  });

  test("ends by its own timeout, where that comes first", async () => {
    const { world, run } = await playTimed(async ({ step }, world) => {
      await runIt(step, () => world.foreign(), { timeout: "5s", retry: { maxAttempts: 1 } });
    });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(world.time).toBe(5_000);
  });
});

test("a run whose last step ended in time completes, however late the database takes it", async () => {
  const { world, run } = await playTimed(async ({ step }, world) => step.run("it", () => world.foreign("9s")));
  world.fate = ({ what }) => (what === "finish_turns" && world.time < 60_000 ? "fails before" : "passes");
  expect(await world.run(run)).toMatchObject({ status: "completed" });
});

test("what cleans up after the run's timeout has its own time, and is not told of it", async () => {
  const aborted: boolean[] = [];
  const { world, run } = await playTimed(async ({ step }, world) => {
    try {
      await step.sleep("nap", "1 minute");
    } finally {
      await step.cleanup("tidy", async ({ step }) =>
        step.run("clean up", async ({ abortSignal }) => {
          await world.foreign("30s");
          aborted.push(abortSignal.aborted);
        }),
      );
    }
  });
  expectTimedOut(await world.run(run));
  expect(world.time).toBe(40_000);
  expect(aborted).toEqual([false]);
});
