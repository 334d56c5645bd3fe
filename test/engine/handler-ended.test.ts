/** A handler has ended, and parts of its run have not: bodies at work, steps that nobody awaits, runs that still clean up. */
import { NonRetryableError } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled } from "./cancelling.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { play, tested, worldOf } from "./playing.ts";
import { ledger } from "./undoing.ts";

const database = testDatabase();
const family = familiesOn(database);
const second = 1_000;
const minute = 60 * second;
/** A lease stands for a minute, and is renewed after half of that. */
const leaseMs = minute;

describe("a body that is at work when the handler of its run has thrown", () => {
  test("is told the reason by its abort signal at the next renewal, and what it returns is recorded", async () => {
    const told: unknown[] = [];
    const undone: unknown[] = [];
    const { world, run, view } = await play(
      database,
      async ({ step }, world) => {
        const slow = step.run(
          "slow",
          async ({ abortSignal }) => {
            abortSignal.addEventListener("abort", () => told.push([abortSignal.reason, world.time]));
            await world.foreign("40s");
            return "c1";
          },
          { timeout: "1 hour", compensate: (id, { outcome }) => void undone.push([id, outcome]) },
        );
        await Promise.all([slow, step.sleep("nap", "5s").then(() => Promise.reject(new Error("no")))]);
      },
      { leaseMs },
    );
    expect(told).toMatchObject([[{ name: "CancelledError", reason: "its handler has ended" }, 30 * second]]);
    expect(undone).toEqual([["c1", "succeeded"]]);
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    const { records } = await world.history(run);
    expect(records.find(({ path }) => path === "slow")).toMatchObject({ value: "c1", isFailure: false });
  });

  test.each([
    ["a minute after it was told", "10 minutes", 90 * second],
    ["at its own timeout", "50s", 50 * second],
  ] as const)("and does not end counts as begun, its result unknown: %s", async (_, timeout, at) => {
    const undone: unknown[] = [];
    const { view } = await play(
      database,
      async ({ step }, world) => {
        const compensate = (_: unknown, { outcome }: { outcome: string }) => void undone.push([outcome, world.time]);
        const slow = step.run("slow", () => world.foreign(), { timeout, compensate });
        await Promise.all([slow, step.sleep("nap", "5s").then(() => Promise.reject(new Error("no")))]);
      },
      { leaseMs },
    );
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(undone).toEqual([["unknown", at]]);
  });
});

describe("a step that nobody awaits when the handler has thrown", () => {
  test("and that has not begun never begins, and is not undone", async () => {
    const { done, act } = ledger();
    const { view } = await play(database, async ({ step }) => {
      await step.run("first", () => 1);
      void act(step, "forgotten");
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" }, undos: undefined });
    expect(done).toEqual([]);
  });

  test("and that is at work is waited for, recorded and undone", async () => {
    const { done, act } = ledger();
    const { world, run, view } = await play(database, async ({ step }, world) => {
      void act(step, "forgotten", () => world.foreign("20s").then(() => "f"));
      await step.sleep("nap", "5s");
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done).toEqual(["forgotten", "undo forgotten: succeeded f"]);
    const { records } = await world.history(run);
    expect(records.map(({ path }) => path)).toEqual(["nap", "forgotten", "", "[undo]/forgotten"]);
  });
});

test.each([0, 8])(
  "what a step would lead to that is recorded after the handler has thrown is never begun: %i runs are kept warm",
  async (warmRuns) => {
    const { done, act } = ledger();
    const { world, run, view } = await play(
      database,
      async ({ step }, world) => {
        void act(step, "a", () => world.foreign("20s").then(() => "A")).then(() => act(step, "b"));
        await step.sleep("nap", "5s");
        throw new Error("no");
      },
      { warmRuns },
    );
    expect(view).toMatchObject({ status: "failed", error: { message: "no" }, undos: { owed: 1, done: 1 } });
    expect(done).toEqual(["a", "undo a: succeeded A"]);
    const { records } = await world.history(run);
    expect(records.map(({ path }) => path)).toEqual(["nap", "a", "", "[undo]/a"]);
  },
);

test("a cleanup that nobody awaits is carried out to its end though the cancelled handler has returned", async () => {
  const done: string[] = [];
  const { world, run } = await cancelled(database, async ({ step }) => {
    await step.sleep("nap", "1 day").catch(() => {});
    void step.cleanup("release", async ({ step }) => {
      await step.sleep("settle", "5 minutes");
      await step.run("tell", () => void done.push("tell"));
    });
    return "fine";
  });
  await world.pass("1 minute");
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
  expect(await world.run(run)).toMatchObject({ status: "cancelled", result: undefined });
  expect(done).toEqual(["tell"]);
});

test("the undos of a parent wait for a run that cleans up, until somebody terminates that run", async () => {
  const { done, act } = ledger();
  const cleaning = child.handler(async ({ step }) => {
    try {
      await step.waitForSignal("go");
    } finally {
      await step.cleanup("tidy", ({ step }) => step.sleep("nap", "50 minutes"));
    }
    return "";
  });
  const world = await family(async ({ step }) => {
    await act(step, "charge");
    const failing = step.sleep("nap", "1 minute").then(() => Promise.reject(new NonRetryableError("no")));
    await Promise.all([step.invoke("it", child, { nr: 1 }), failing]);
  }, cleaning);
  const run = await world.start(tested);
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
  expect(done).toEqual(["charge"]);
  const [cleaner] = await childrenOf(world);
  await world.ask((client) => client.terminate(cleaner?.runId ?? ""));
  await world.pass("10 seconds");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", error: { message: "no" } });
  expect(done).toEqual(["charge", "undo charge: succeeded charge"]);
});

describe.each(["fails", "is cancelled"] as const)("a run that %s while a race's loser is at work", (end) => {
  test("ends two minutes after that lease at the latest where its process died, and is not replayed before", async () => {
    let replays = 0;
    const undone: string[] = [];
    const world = await worldOf(
      database,
      async ({ step }) => {
        replays += 1;
        await step.race("it", [
          ({ step }) => step.sleep("short", "5s"),
          ({ step }) =>
            step.run("long", () => world.foreign(), {
              timeout: "1 hour",
              compensate: (_, { outcome }) => void undone.push(outcome),
            }),
        ]);
        await step.sleep("nap", end === "fails" ? "5s" : "1 day");
        throw new Error("no");
      },
      { leaseMs: 5 * minute, warmRuns: 0 },
    );
    const run = await world.start(tested);
    await world.pass("12s");
    if (end === "is cancelled") await world.ask((client) => client.cancel(run.runId));
    world.crash();
    const before = replays;
    await world.pass("4 minutes"); // ticks look at the run meanwhile
    expect(replays).toBe(before);
    const view = await world.run(run);
    expect(view.status).toBe(end === "fails" ? "failed" : "cancelled");
    expect(undone).toEqual(["unknown"]);
    expect(world.time).toBeLessThanOrEqual(7 * minute);
  });
});
