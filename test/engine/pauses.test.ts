/** Pause, resume and terminate, in the course of a run: what begins, what counts, and when. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, familiesOn } from "./families.ts";
import { order, ordersOn } from "./orders.ts";
import { type TestedContext, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const hour = 3_600_000;

const pause = (world: World, run: { readonly runId: string }) => world.ask((client) => client.pause(run.runId));
const resume = (world: World, run: { readonly runId: string }) => world.ask((client) => client.resume(run.runId));

describe("a run that is paused", () => {
  test("begins no step, however long it takes, and asks the database nothing", async () => {
    const bodies: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      await step.run("charge", () => void bodies.push("charge"));
    });
    const run = await world.start(tested);
    await world.pass("10 minutes");
    await pause(world, run);
    await world.pass("1 hour"); // alarms that were armed before ring once more
    const before = world.statements();
    await world.pass("5 hours");
    expect([bodies, world.statements()]).toEqual([[], before]);
    expect(await world.get(run.runId)).toMatchObject({ status: "paused" });
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(bodies).toEqual(["charge"]);
    expect(world.time).toBeLessThan(6.3 * hour);
  });

  test("is awake within a minute where its sleep ends just after it is resumed", async () => {
    const world = await worldOf(database, ({ step }) => step.sleep("nap", "3605s"));
    const run = await world.start(tested);
    await world.pass("10 minutes");
    await pause(world, run);
    await world.pass("3002s");
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBeLessThanOrEqual(hour + 65_000);
  });

  test("finishes the steps of a map that are at work, and begins no other", async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const world = await worldOf(database, async ({ step }) =>
      step.map(
        "ship",
        [1, 2, 3, 4],
        (item, { step }) =>
          step.run("send", async () => {
            begun.push(item);
            await world.foreign("10s");
            ended.push(item);
            return item;
          }),
        { maxConcurrency: 2 },
      ),
    );
    const run = await world.start(tested);
    await world.pass("5s");
    await pause(world, run);
    await world.pass("1 hour");
    expect([begun, ended]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 2, 3, 4] });
    expect(begun).toEqual([1, 2, 3, 4]);
    expect(world.time).toBeLessThan(hour + 60_000);
  });

  test.each([
    ["before", "1 hour", "the signal"],
    ["after", "3 hours", "timed out"],
  ] as const)("has a signal that came %s the deadline of its wait count so", async (_, comesAt, result) => {
    const world = await worldOf(
      database,
      async ({ step }) => (await step.waitForSignal("go", { timeout: "2 hours", onTimeout: "null" })) ?? "timed out",
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    await pause(world, run);
    await world.pass(comesAt);
    await world.signal(run, tested, "go", "the signal");
    await world.pass("4 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "paused" });
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result });
  });

  test.each([0, 10])("goes on in the order in which its waits ended, with %i warm runs", async (warmRuns) => {
    const tokens: string[] = [];
    const sleeping = child.handler(async ({ step }) => {
      await step.sleep("work", "3 hours");
      return "third";
    });
    const waitForAll = async ({ step }: TestedContext) => {
      const ends: unknown[] = [];
      const note = (end: unknown) => void ends.push(end);
      await Promise.all([
        step.waitForSignal("go").then(note),
        step.invoke("it", child, { nr: 1 }).then(note),
        step.waitForCallback("approval", ({ token }) => void tokens.push(token)).then(note),
        step.sleep("nap", "1 hour").then(() => note("first")),
      ]);
      return ends;
    };
    const world = await familiesOn(database)(waitForAll, sleeping, { warmRuns });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await pause(world, run);
    await world.pass("2 hours");
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "second", { contract: tested }));
    await world.pass("2 hours");
    await world.signal(run, tested, "go", "fourth");
    await world.pass("1 hour");
    const { records: before } = await world.history(run);
    await resume(world, run);
    const result = ["first", "second", "third", "fourth"];
    expect(await world.run(run)).toMatchObject({ status: "completed", result });
    const { records } = await world.history(run);
    const waits = records.slice(before.length);
    expect(waits.map(({ kind }) => kind)).toEqual(["sleep", "callback", "child", "signal"]);
    const times = records.map(({ recordedAt }) => recordedAt.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("does not time out, and has the rest of its time afterwards", async () => {
    const limited = workflow({ name: "limited", version: 1, timeout: "3 hours" });
    const world = await World.begin(database, {
      workflows: [limited.handler(async ({ step }) => step.sleep("nap", "2 hours"))],
    });
    const run = await world.start(limited);
    await world.pass("1 hour");
    await pause(world, run);
    await world.pass("10 hours");
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });

  test("goes on after its process has died meanwhile", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.run("slow", () => world.foreign("30s"));
      return await step.run("next", () => "done");
    });
    const run = await world.start(tested);
    await world.pass("10s");
    await pause(world, run);
    world.crash();
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject({ status: "paused" });
    await resume(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "done" });
  });
});

describe("the pause of a workflow", () => {
  test.each(["retry", "restart", "fork"] as const)(
    "does not hold a run that somebody sets going by a %s, though new runs are held",
    async (verb) => {
      const { state, world, run } = await ordersOn(database).aFailedOrder();
      await world.ask((client) => client.pauseWorkflow("order", { reason: "their API is down" }));
      state.isBroken = false;
      const { runId } = await world.ask<{ runId: string }>((client) => client[verb](run.runId));
      expect(await world.run({ runId })).toMatchObject({ status: "completed", isHeld: false });
      const other = await world.start(order, { amount: 5 });
      await world.pass("1 hour");
      expect(await world.get(other.runId)).toMatchObject({ status: "paused", isHeld: true });
    },
  );
});

describe("a run that is terminated", () => {
  test("stops its steps by their abort signals, records nothing of them, and nothing wakes it again", async () => {
    const aborted: unknown[] = [];
    const world = await worldOf(database, async ({ step }) =>
      Promise.all(
        ["a", "b"].map((name) =>
          step.run(
            name,
            async ({ abortSignal }) => {
              abortSignal.addEventListener("abort", () => aborted.push(name));
              await world.foreign("5 minutes");
            },
            { timeout: "10 minutes" },
          ),
        ),
      ),
    );
    const run = await world.start(tested);
    await world.pass("10s");
    await world.ask((client) => client.terminate(run.runId, { reason: "a test" }));
    await world.pass("1 hour");
    expect(aborted.toSorted()).toEqual(["a", "b"]);
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", dueAt: undefined, records: 0 });
  });
});
