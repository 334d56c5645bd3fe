/** Signals, waits and sleeps of a run that begins again: they are taken again, or begin anew, or end later. */
import { NonRetryableError } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, waiting } from "./families.ts";
import { order, ordersOn } from "./orders.ts";
import { World } from "./world.ts";

const database = testDatabase();
const day = 86_400_000;
const { worldOf } = ordersOn(database);

test("signals that were taken after the cut are taken again, in their old order", async () => {
  const taken: string[][] = [];
  const world = await worldOf(async ({ step }) => {
    const first = await step.waitForSignal("go");
    await step.run("a", () => 1);
    const second = await step.waitForSignal("go");
    const third = await step.waitForSignal("go");
    return await step.run("note", () => void taken.push([first, second, third]));
  });
  const run = await world.start(order, { amount: 1 });
  for (const go of ["1", "2", "3"]) await world.signal(run, order, "go", go);
  await world.run(run);
  await world.ask((client) => client.restart(run.runId, { from: "a" }));
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  await world.ask((client) => client.restart(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", epoch: 2 });
  expect(taken).toEqual([
    ["1", "2", "3"],
    ["1", "2", "3"],
    ["1", "2", "3"],
  ]);
});

test.each([
  ["a restart", "restart", ["first", null]],
  ["a retry", "retry", ["first", null]],
  ["the run has continued as new", "continueAsNew", [null, null]],
] as const)("a signal whose dedupeId has come before is a duplicate, also after %s", async (_, verb, result) => {
  const state = { isBroken: verb === "retry" };
  const world = await worldOf(async ({ input, step }) => {
    const taking = () => step.waitForSignal("go", { timeout: "1 day", onTimeout: "null" });
    const taken = await taking();
    await step.run("work", () => {
      if (state.isBroken) throw new NonRetryableError("no");
    });
    if (verb === "continueAsNew" && input.amount === 1) await step.continueAsNew({ amount: 2 });
    return [taken, await taking()];
  });
  const run = await world.start(order, { amount: 1 });
  const send = (payload: string) =>
    world.ask((client) => client.signal(run.runId, "go", payload, { contract: order, dedupeId: "d" }));
  expect(await send("first")).toMatchObject({ outcome: "sent" });
  await world.pass(verb === "continueAsNew" ? "1 minute" : "2 days");
  state.isBroken = false;
  if (verb !== "continueAsNew") await world.ask((client) => client[verb](run.runId));
  expect(await send("second")).toMatchObject({ outcome: "duplicate" });
  expect(await world.run(run)).toMatchObject({ status: "completed", epoch: 1, result });
});

test("a wait that begins after the cut has its whole time, however long the run was over", async () => {
  const world = await worldOf(async ({ step }) => {
    await step.run("a", () => 1);
    return await step.waitForSignal("go", { timeout: "1 day", onTimeout: "null" });
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ result: null });
  await world.pass("20 days");
  const before = world.time;
  await world.ask((client) => client.restart(run.runId, { from: "go" }));
  await world.pass("23 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
  await world.run(run);
  expect(world.time - before).toBeGreaterThanOrEqual(day);
});

interface Repairing {
  isBroken: boolean;
}

/** Two steps. The second one fails the run while something is broken. */
async function twoSteps(
  step: Pick<Parameters<Parameters<typeof order.handler>[0]>[0]["step"], "run">,
  state: Repairing,
) {
  await step.run("first", () => 1);
  await step.run("second", () => {
    if (state.isBroken) throw new NonRetryableError("no");
  });
}

/** Has a run fail, repairs it five days later, and answers how the run, or its fork, ends then. */
async function afterDaysOff(world: World, state: Repairing, verb: "retry" | "restart" | "fork") {
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  await world.pass("5 days");
  state.isBroken = false;
  const { runId } = await world.ask<{ runId: string }>((client) =>
    verb === "retry" ? client.retry(run.runId) : client[verb](run.runId, { from: "second" }),
  );
  return await world.run({ runId });
}

test.each(["retry", "restart", "fork"] as const)(
  "a %s puts off the end of a sleep by the time that the run was over, but no instant that was named",
  async (verb) => {
    const state = { isBroken: true };
    const world = await worldOf(async ({ step }) => {
      const since = step.now().getTime();
      const until = (sleep: Promise<void>) => sleep.then(() => (step.now().getTime() - since) / day);
      const [due, nap] = await Promise.all([
        until(step.sleepUntil("due", since + 10 * day)),
        until(step.sleep("nap", "10 days")),
        twoSteps(step, state),
      ]);
      return { due, nap };
    });
    expect(await afterDaysOff(world, state, verb)).toMatchObject({ status: "completed", result: { due: 10, nap: 15 } });
  },
);

test.each(["retry", "restart", "fork"] as const)(
  "a %s puts off the deadlines of a signal and of a callback by the time that the run was over",
  async (verb) => {
    const state = { isBroken: true };
    const world = await worldOf(async ({ step }) => {
      const since = step.now().getTime();
      const deadline = { timeout: "10 days", onTimeout: "null" } as const;
      const daysOf = (wait: Promise<unknown>) => wait.then(() => (step.now().getTime() - since) / day);
      const [signal, callback] = await Promise.all([
        daysOf(step.waitForSignal("go", deadline)),
        daysOf(step.createCallback("approval").wait(deadline)),
        twoSteps(step, state),
      ]);
      return { signal, callback };
    });
    expect(await afterDaysOff(world, state, verb)).toMatchObject({
      status: "completed",
      result: { signal: 15, callback: 15 },
    });
  },
);

test.each(["retry", "restart", "fork"] as const)(
  "a %s puts off the deadline of an invoked run by the time that its parent was over",
  async (verb) => {
    const state = { isBroken: true };
    const handle: Parameters<typeof order.handler>[0] = async ({ step }) => {
      const since = step.now().getTime();
      const daysOf = (wait: Promise<unknown>) => wait.catch(({ name }) => [name, (step.now().getTime() - since) / day]);
      const options = { timeout: "10 days", onParentEnd: "abandon" } as const;
      const [invoked] = await Promise.all([
        daysOf(step.invoke("it", child, { nr: 1 }, options)),
        twoSteps(step, state),
      ]);
      return invoked;
    };
    const world = await World.begin(database, { workflows: [order.handler(handle), waiting] });
    expect(await afterDaysOff(world, state, verb)).toMatchObject({ status: "completed", result: ["TimeoutError", 15] });
    expect(await childrenOf(world)).toHaveLength(verb === "retry" ? 1 : 2);
  },
);

test("a name that was closed is open again after a restart from before that, and stays closed after one from behind it", async () => {
  const world = await worldOf(async ({ step }) => {
    await step.run("a", () => 1);
    await step.close("go");
    await step.run("b", () => 1);
  });
  const run = await world.start(order, { amount: 1 });
  await world.run(run);
  const send = (payload: string) => world.ask((client) => client.signal(run.runId, "go", payload, { contract: order }));
  const restart = async (from: string) => {
    await world.ask((client) => client.restart(run.runId, { from }));
    await world.ask((client) => client.pause(run.runId));
  };
  await restart("b");
  await expect(send("late")).rejects.toMatchObject({ code: "signal_closed" });
  await restart("a");
  expect(await send("in time")).toMatchObject({ outcome: "sent" });
});
