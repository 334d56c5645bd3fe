/** Undos of steps that have not succeeded: what was begun may have had its effect, so it is undone. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { acceptRecords, refuseAttempts, refuseRecords } from "../postgres/refusals.ts";
import { cancel, cancelled } from "./cancelling.ts";
import { play, type TestedContext, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { ended, ledger } from "./undoing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

describe("a step that has not succeeded", () => {
  test("is undone where it was to be tried again when its run was cancelled", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(database, async ({ step }) =>
      step.run("charge", () => Promise.reject(new Error("later")), {
        retry: { delay: "1 hour" },
        compensate: (_, { outcome }) => void done.push(`undo charge: ${outcome}`),
      }),
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["undo charge: unknown"]);
  });

  test.each([
    ["alone", 0, {}],
    ["beside others", 1, {}],
    ["on an encrypted database", 1, { keys: testKeys }],
  ])("has its undo told the error of its last attempt, without stack and data, %s", async (_, others, options) => {
    const told: unknown[] = [];
    const charging = async ({ step }: TestedContext) =>
      Promise.all([
        ...Array.from({ length: others }, () => step.sleep("nap", "1 day")),
        step.run(
          "charge",
          ({ attempt }) => {
            throw Object.assign(new TypeError(`try ${attempt} ${"x".repeat(300)}`), { code: "ECARD", data: { a: 1 } });
          },
          {
            retry: { delay: "10s", backoff: 100, maxDelay: "1 hour", jitter: false },
            compensate: (_, { error }) => void told.push(error),
          },
        ),
      ]);
    const { world, run } = await cancelled(database, charging, options);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(told).toEqual([{ name: "TypeError", message: `try 2 ${"x".repeat(194)}`, code: "ECARD" }]);
    const { records } = await world.history(run);
    expect(records.find(({ kind }) => kind === "ending")).toMatchObject({
      value: { owed: [{ path: "charge", error: { code: "ECARD" } }] },
    });
  });

  test("has its failed undo tried again by a retry, whatever characters the error of its last attempt has", async () => {
    let isDown = true;
    const told: unknown[] = [];
    const world = await worldOf(database, async ({ step }) => {
      const charge = step.run("charge", () => Promise.reject(new Error(`\0\u{dc00}${"x".repeat(197)}\u{1f600}`)), {
        retry: { delay: "1 hour" },
        compensate: {
          retry: { maxAttempts: 1 },
          run: (_, { error }) => (isDown ? Promise.reject(new Error("down")) : void told.push(error)),
        },
      });
      await Promise.all([charge, step.sleep("nap", "1 minute").then(() => Promise.reject(new Error("over")))]);
    });
    const run = await world.start(tested);
    await world.pass("10 minutes");
    isDown = false;
    await world.ask((client) => client.retry(run.runId));
    await world.pass("10 minutes");
    expect(told).toEqual([{ name: "Error", message: `\0\u{fffd}${"x".repeat(197)}\u{fffd}` }]);
  });

  test("is undone where the process that had begun it died, and its run was cancelled", async () => {
    const { done, act } = ledger();
    const { world, run } = await cancelled(
      database,
      ({ step }, world) => act(step, "charge", () => (world.time < minute ? world.die() : Promise.resolve())),
      { after: 0 },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where an invocation after that death had no time for the step, and its run was cancelled then", async () => {
    const { done, act } = ledger();
    let hasTime = true;
    const world = await worldOf(
      database,
      async ({ step }) =>
        act(step, "charge", () => {
          hasTime = false;
          world.die();
        }),
      { hasTimeFor: () => hasTime },
    );
    const run = await world.start(tested);
    await world.pass("3 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued" });
    await cancel(world, run);
    hasTime = true;
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where its body used `step`, and the run was cancelled before corrected code had tried it again", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      act(step, "charge", () => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    await cancel(world, run);
    await world.deploy({ workflows: [tested.handler(async ({ step }) => act(step, "charge"))] });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
    const { attempts } = await world.history(run);
    expect(attempts).toMatchObject([{ path: "charge", number: 1, error: { code: "nested_step" } }]);
  });

  test.each([
    ["its error", "new.error like '%nested%'"],
    ["that it was carried out", "true"],
  ])("blocks its run where its body used `step` and the database cannot store %s", async (_, condition) => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      act(step, "charge", () => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    await refuseAttempts(database.pool, "22P05", condition);
    try {
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
    } finally {
      await acceptRecords(database.pool);
    }
    await world.deploy({ workflows: [tested.handler(async ({ step }) => act(step, "charge"))] });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "charge"]);
  });

  test("is undone where the database could not store that it was done, and the run was cancelled then", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) => act(step, "charge"));
    const run = await world.start(tested);
    await refuseRecords(database.pool, "54000", "new.path = 'charge'");
    try {
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
    } finally {
      await acceptRecords(database.pool);
    }
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where it is a branch whose body used `step`, and the run was cancelled before that was corrected", async () => {
    const { done, act } = ledger();
    const charging =
      (body?: (step: TestedStep) => unknown): TestedHandler =>
      async ({ step }) =>
        Promise.all([act(step, "charge", () => body?.(step)), step.sleep("nap", "1 day")]);
    const world = await worldOf(
      database,
      charging((step) => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    await cancel(world, run);
    await world.deploy({ workflows: [tested.handler(charging())] });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where a signal had led to it, its process died, and its run was cancelled", async () => {
    const { done, act } = ledger();
    const world: World = await worldOf(database, async ({ step }) => {
      await step.waitForSignal("go");
      await act(step, "charge", () => (done.length === 1 ? world.die() : Promise.resolve()));
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.signal(run, tested, "go", null);
    await world.pass("1s");
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where the process that had begun its branch died, and its run failed meanwhile", async () => {
    const { done, act } = ledger();
    const { view } = await play(
      database,
      async ({ step }, world) =>
        Promise.all([
          act(step, "charge", () => world.die()),
          step.sleep("nap", "30 seconds").then(() => Promise.reject(new Error("no"))),
        ]),
      { processes: 2 },
    );
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done.filter((what) => what !== "charge")).toEqual(["undo charge: unknown undefined"]);
  });

  const outlast = (world: World) => world.foreign("1 day");
  const die = (world: World) => (world.time < minute ? world.die() : undefined);
  test.each([
    ["of a branch whose process died", false, die, { code: "interrupted" }],
    ["of a body that goes on although it was told to end", true, outlast, { code: "result_unknown" }],
    ["of a step alone whose process died: nothing", true, die, undefined],
  ])("has its undo told what is known %s", async (_, isAlone, body, error) => {
    const told: unknown[] = [];
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => {
        const charge = step.run("charge", () => body(world), {
          timeout: "10 minutes",
          compensate: (_, { outcome, error }) => void told.push({ outcome, error }),
        });
        return Promise.all(isAlone ? [charge] : [charge, step.sleep("nap", "1 day")]);
      },
      { after: "10s" },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(told).toMatchObject([{ outcome: "unknown", error }]);
  });

  test("is not undone where it was never begun", async () => {
    const { done, act } = ledger();
    const { view } = await ended(database, async ({ step }) =>
      Promise.all([
        step.map(
          "each",
          [1, 2, 3],
          async (item, { step }) => {
            await step.sleep("rest", "1 day");
            await act(step, `charge ${item}`);
          },
          { maxConcurrency: 1 },
        ),
        step.sleep("nap", "1 minute").then(() => Promise.reject(new Error("no"))),
      ]),
    );
    expect(view).toMatchObject({ status: "failed" });
    expect(done).toEqual([]);
  });
});
