/** Runs that are undone: what a run undoes when it fails, is cancelled or times out, and in which order. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled } from "./cancelling.ts";
import { tested, worldOf } from "./playing.ts";
import { ended, ledger } from "./undoing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a run that fails", () => {
  test("undoes what succeeded, the last step first, and keeps its error", async () => {
    const { done, act } = ledger();
    const { world, run, view } = await ended(database, async ({ step }) => {
      await act(step, "a");
      await act(step, "b");
      await step.sleep("nap", "1 minute");
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done).toEqual(["a", "b", "undo b: succeeded b", "undo a: succeeded a"]);
    const { records } = await world.history(run);
    expect(records.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "step a",
      "step b",
      "sleep nap",
      "ending ",
      "step [undo]/b",
      "step [undo]/a",
    ]);
  });

  test("undoes a step that failed, since it may have had its effect", async () => {
    const { done, act } = ledger();
    const { view } = await ended(database, async ({ step }) => {
      await act(step, "a");
      await act(step, "b", () => Promise.reject(new Error("lost")));
    });
    expect(view).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["a", "b", "undo b: unknown undefined", "undo a: succeeded a"]);
  });

  test("tells a body at work to end, by the next renewal of its lease, and undoes what it may have done", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([
        act(step, "quick", () => Promise.reject(new Error("no"))),
        step.run(
          "slow",
          ({ abortSignal }) =>
            new Promise((_, reject) => {
              abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
            }),
          { timeout: "1 hour", compensate: (_, { outcome }) => void done.push(`undo slow: ${outcome}`) },
        ),
      ]),
    );
    const run = await world.start(tested);
    await world.pass("2 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done.toSorted()).toEqual(["quick", "undo quick: unknown undefined", "undo slow: unknown"]);
  });

  test("waits for branches that are at work, and undoes what they did", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([
        act(step, "quick", () => Promise.reject(new Error("no"))),
        act(step, "slow", () => world.foreign("30 seconds").then(() => "s")),
        step.run("queued", () => Promise.reject(new Error("later")), {
          retry: { delay: "1 hour" },
          compensate: (_, { outcome }) => void done.push(`undo queued: ${outcome}`),
        }),
      ]),
    );
    const run = await world.start(tested);
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "failed" });
    expect(done.toSorted()).toEqual([
      "quick",
      "slow",
      "undo queued: unknown",
      "undo quick: unknown undefined",
      "undo slow: succeeded s",
    ]);
  });
});

describe("a run that is cancelled", () => {
  test("cleans up, and then undoes", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) => {
      await act(step, "a");
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("tidy", (room) => room.step.run("up", () => void done.push("tidy")));
      }
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["a", "tidy", "undo a: succeeded a"]);
  });
});

test("a run that its timeout ends is undone", async () => {
  const done: string[] = [];
  const timed = workflow({ name: "timed", version: 1, timeout: "1 hour" });
  const handler = timed.handler(async ({ step }) => {
    await step.run("a", () => void done.push("a"), { compensate: () => void done.push("undo a") });
    await step.sleep("nap", "1 day");
  });
  const world = await World.begin(database, { workflows: [handler] });
  const run = await world.start(timed);
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  expect(done).toEqual(["a", "undo a"]);
});

test("a run whose handler takes no notice of its cancel is undone all the same", async () => {
  const { done, act } = ledger();
  const { world, run } = await cancelled(database, async ({ step }) => {
    await act(step, "a");
    await step.sleep("nap", "1 day").catch(() => {});
    return "never mind";
  });
  expect(await world.run(run)).toMatchObject({ status: "cancelled", result: undefined });
  expect(done).toEqual(["a", "undo a: succeeded a"]);
});

test("a run that completes undoes nothing", async () => {
  const { done, act } = ledger();
  const { view } = await ended(database, async ({ step }) => act(step, "a"));
  expect(view).toMatchObject({ status: "completed" });
  expect(done).toEqual(["a"]);
});
