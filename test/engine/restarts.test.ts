/** A run that begins again from a step or from its start, and a new run that begins with a copy of its history. */
import { type Duration, NonRetryableError, workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const day = 86_400_000;

const order = workflow({
  name: "order",
  version: 1,
  timeout: "30 days",
  input: z.object({ amount: z.number() }),
  signals: { go: z.string() },
  callbacks: { approval: z.string() },
});
type Handle = Parameters<typeof order.handler>[0];

async function worldOf(handle: Handle) {
  return await World.begin(database, { workflows: [order.handler(handle)] });
}

/** Reserves, charges and ships, each with a key, and fails in `ship` as long as `isBroken`. */
function shop() {
  const state = { isBroken: true, calls: [] as string[], keys: [] as string[], ids: [] as string[] };
  const handle: Handle = async ({ input, step }) => {
    const act = (name: string) =>
      step.run(
        name,
        ({ idempotencyKey }) => {
          state.calls.push(name);
          state.keys.push(`${name} ${idempotencyKey}`);
          if (name === "ship" && state.isBroken) throw new Error("no van");
          return `${name} ${input.amount}`;
        },
        { retry: { maxAttempts: 1 } },
      );
    const reserved = await act("reserve");
    const id = step.uuid();
    state.ids.push(id);
    const charged = await act("charge");
    const shipped = await act("ship");
    return [reserved, charged, shipped];
  };
  return { state, handle };
}

async function aFailedOrder() {
  const { state, handle } = shop();
  const world = await worldOf(handle);
  const run = await world.start(order, { amount: 5 }, { id: "o1", tags: { customer: "c1" } });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  return { state, world, run };
}

test("a restart keeps what came before the step, and carries out the step and all after it", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  state.calls = [];
  expect(await world.ask((client) => client.restart(run.runId, { from: "charge", by: "ada" }))).toEqual({
    runId: run.runId,
    outcome: "restarted",
    epoch: 1,
    kept: 1,
    dropped: 2,
  });
  expect(await world.run(run)).toMatchObject({
    status: "completed",
    result: ["reserve 5", "charge 5", "ship 5"],
    error: undefined,
    epoch: 1,
  });
  expect(state.calls).toEqual(["charge", "ship"]);
  const { epochs, operations } = await world.history(run);
  expect(epochs).toMatchObject([{ epoch: 1, why: "restarted", kept: 1 }]);
  expect(operations).toMatchObject([{ verb: "restart", by: "ada", verdict: "restarted" }]);
});

test("what is carried out again has new keys and draws anew, and what is kept has drawn as before", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  await world.ask((client) => client.restart(run.runId, { from: "charge" }));
  await world.run(run);
  expect(new Set(state.keys.filter((key) => key.startsWith("charge"))).size).toBe(2);
  const draws = [...new Set(state.ids)];
  expect(draws.length).toBe(2); // one before the restart and one after it, in each replay the same
});

test("a restart from the start may have another input, and a start with the first input finds the run", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  await world.ask((client) => client.restart(run.runId, { input: { amount: 7 }, contract: order }));
  expect(await world.run(run)).toMatchObject({
    status: "completed",
    input: { amount: 7 },
    result: ["reserve 7", "charge 7", "ship 7"],
  });
  expect((await world.start(order, { amount: 5 }, { id: "o1" })).runId).toBe(run.runId);
});

test("the same call again does nothing, and answers the same", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  const callId = world.chance.uuid();
  const asked = { from: "charge", callId };
  const receipt = await world.ask((client) => client.restart(run.runId, asked));
  await world.run(run);
  expect(await world.ask((client) => client.restart(run.runId, asked))).toEqual(receipt);
  expect(await world.get(run.runId)).toMatchObject({ status: "completed", epoch: 1 });
});

test("a plan tells what a restart would drop, and changes nothing", async () => {
  const { world, run } = await aFailedOrder();
  expect(await world.ask((client) => client.planRestart(run.runId, { from: "charge" }))).toMatchObject({
    kept: 1,
    dropped: 2,
    records: [
      { position: 2, kind: "step", path: "charge", occurrence: 1, isFailure: false },
      { position: 3, path: "ship", isFailure: true },
    ],
  });
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0 });
  expect((await world.history(run)).operations).toEqual([]);
});

test("a run that is neither over nor blocked nor paused is not restarted", async () => {
  const world = await worldOf(async ({ step }) => {
    await step.run("a", () => 1);
    await step.sleep("nap", "1 day");
  });
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 minute");
  await expect(world.ask((client) => client.restart(run.runId))).rejects.toMatchObject({
    code: "not_applicable",
    message: `the run ${run.runId} is sleeping, so it cannot be restarted`,
  });
});

test("a paused run that is restarted goes on", async () => {
  const world = await worldOf(async ({ step }) => {
    await step.run("a", () => 1);
    await step.sleep("nap", "1 day");
    return "slept";
  });
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 hour");
  await world.ask((client) => client.pause(run.runId));
  await world.ask((client) => client.restart(run.runId, { from: "nap" }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "slept" });
  expect(world.time).toBeGreaterThanOrEqual(day + day / 24); // the nap began anew
});

test("a run whose step is at work is not restarted", async () => {
  let end = (_: unknown): void => {};
  const world = await worldOf(async ({ step }) => {
    await step.run("long", () => new Promise((resolve) => (end = resolve)), { timeout: "1 hour" });
  });
  const run = await world.start(order, { amount: 1 });
  await world.pass("10 seconds");
  await world.ask((client) => client.pause(run.runId));
  await expect(world.ask((client) => client.restart(run.runId))).rejects.toMatchObject({ code: "at_work" });
  end(1);
});

test("a place to which the run has not come is refused", async () => {
  const { world, run } = await aFailedOrder();
  await expect(world.ask((client) => client.restart(run.runId, { from: "thank#2" }))).rejects.toMatchObject({
    code: "unknown_step",
    message: `the run ${run.runId} has not come to thank#2`,
  });
});

test("an epoch that is not the newest any more is refused", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  await world.ask((client) => client.restart(run.runId, { from: "charge", epoch: 0 }));
  await world.run(run);
  await expect(world.ask((client) => client.restart(run.runId, { epoch: 0 }))).rejects.toMatchObject({
    code: "epoch_changed",
    details: { epoch: 1 },
  });
});

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

test.each(["retry", "restart", "fork"] as const)(
  "a %s puts off the end of a sleep by the time that the run was over, but no instant that was named",
  async (verb) => {
    const state = { isBroken: true };
    const world = await worldOf(async ({ step }) => {
      const since = step.now().getTime();
      const work = async () => {
        await step.run("first", () => 1);
        await step.run("second", () => {
          if (state.isBroken) throw new NonRetryableError("no");
        });
      };
      const until = (sleep: Promise<void>) => sleep.then(() => (step.now().getTime() - since) / day);
      const [due, nap] = await Promise.all([
        until(step.sleepUntil("due", since + 10 * day)),
        until(step.sleep("nap", "10 days")),
        work(),
      ]);
      return { due, nap };
    });
    const run = await world.start(order, { amount: 1 });
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.pass("5 days");
    state.isBroken = false;
    const { runId } = await world.ask<{ runId: string }>((client) =>
      verb === "retry" ? client.retry(run.runId) : client[verb](run.runId, { from: "second" }),
    );
    expect(await world.run({ runId })).toMatchObject({ status: "completed", result: { due: 10, nap: 15 } });
  },
);

test("each restart has the contract's whole timeout", async () => {
  const world = await worldOf(async ({ step }) => {
    await step.sleep("nap", "20 days");
    return "slept";
  });
  const run = await world.start(order, { amount: 1 });
  await world.run(run);
  await world.ask((client) => client.restart(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", epoch: 1 });
});

/** A run as releases before migration 22 started it: only the instant of its timeout is known. It sleeps as long as it is told to. */
async function anOldRun(nap: Duration) {
  const world = await worldOf(async ({ step }) => {
    await step.sleep("nap", nap);
    return "slept";
  });
  const run = await world.start(order, { amount: 1 });
  await database.query("update layover.run set timeout_ms = null where id = $1", [run.runId]);
  return { world, run };
}

test.each<[string, Duration, (world: World, runId: string) => Promise<unknown>]>([
  ["completed", "20 days", async () => {}],
  ["failed", "40 days", async () => {}],
  ["cancelled", "20 days", (world, runId) => world.ask((client) => client.cancel(runId))],
])(
  "a run of a release that did not write down its timeout has it after a restart, too: %s",
  async (status, nap, meets) => {
    const { world, run } = await anOldRun(nap);
    await world.pass("1 day");
    await meets(world, run.runId);
    expect(await world.run(run)).toMatchObject({ status });
    for (const _ of ["first", "second"]) {
      await world.pass("3 days");
      await world.ask((client) => client.restart(run.runId));
      expect((await world.get(run.runId)).timeoutAt).toEqual(new Date(world.now + 30 * day));
      await world.run(run);
    }
  },
);

test("a fork of a run of a release that did not write down its timeout has it, too", async () => {
  const { world, run } = await anOldRun("20 days");
  await world.run(run);
  const { runId } = await world.ask((client) => client.fork(run.runId));
  expect((await world.get(runId)).timeoutAt).toEqual(new Date(world.now + 30 * day));
});

test("a cancelled run without a timeout has none after a restart either", async () => {
  const endless = workflow({ name: "endless", version: 1 });
  const world = await World.begin(database, {
    workflows: [endless.handler(async ({ step }) => step.sleep("nap", "1 day"))],
  });
  const run = await world.start(endless);
  await world.ask((client) => client.cancel(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "cancelled" });
  await world.ask((client) => client.restart(run.runId));
  expect((await world.get(run.runId)).timeoutAt).toBeUndefined();
});

test("the URL of a callback that was made before the cut lives, and one that was made after it is dead", async () => {
  const urls: Record<string, string[]> = { early: [], late: [] };
  const world = await worldOf(async ({ step }) => {
    const early = step.createCallback("approval");
    await step.run("a", () => void urls["early"]?.push(early.token));
    await step.run("b", () => 1);
    const late = step.createCallback("approval");
    await step.run("c", () => void urls["late"]?.push(late.token));
    return [await early.wait(), await late.wait()];
  });
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 minute");
  await world.ask((client) => client.pause(run.runId));
  await world.ask((client) => client.restart(run.runId, { from: "b" }));
  await world.pass("1 minute");
  const [first] = urls["early"] ?? [];
  const [dead, living] = urls["late"] ?? [];
  expect(urls["early"]?.length).toBe(1);
  expect(dead).not.toBe(living);
  const answer = (token: string | undefined, value: string) =>
    world.ask((client) => client.resolveCallback(token ?? "", value, { contract: order }));
  await expect(answer(dead, "no")).rejects.toMatchObject({ code: "callback_expired" });
  await answer(first, "early");
  await answer(living, "late");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["early", "late"] });
});

test("a fork that is restarted from a callback which the run before it had announced announces it anew, and a run does not", async () => {
  const tokens: string[] = [];
  const world = await worldOf(async ({ step }) => {
    const said = await step.waitForCallback("approval", ({ token }) => void tokens.push(token));
    return await step.run("ship", () => said);
  });
  const answer = (value: string) =>
    world.ask((client) => client.resolveCallback(tokens.at(-1) ?? "", value, { contract: order }));
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 minute");
  await answer("first");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "first" });
  const fork = await world.ask((client) => client.fork(run.runId, { from: "ship" }));
  expect(await world.run(fork)).toMatchObject({ status: "completed", result: "first" });
  await world.ask((client) => client.restart(fork.runId, { from: "approval" }));
  await world.pass("1 minute");
  expect(tokens.length).toBe(2);
  await answer("second");
  expect(await world.run(fork)).toMatchObject({ status: "completed", result: "second" });

  for (const { runId } of [fork, run]) {
    await world.ask((client) => client.restart(runId, { from: "approval" }));
    await world.pass("1 minute");
  }
  expect(tokens.length).toBe(2);
  expect(await world.run(fork)).toMatchObject({ status: "completed", result: "second" });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "first" });
});

test("a fork that was restarted once announces nothing anew that it has announced itself", async () => {
  const tokens: string[] = [];
  const world = await worldOf(async ({ step }) => {
    const wait = () => step.waitForCallback("approval", ({ token }) => void tokens.push(token));
    const said = [await wait()];
    await step.run("ship", () => 1);
    said.push(await wait());
    return await step.run("end", () => said);
  });
  const answer = async (value: string) => {
    await world.pass("1 minute");
    await world.ask((client) => client.resolveCallback(tokens.at(-1) ?? "", value, { contract: order }));
  };
  const run = await world.start(order, { amount: 1 });
  for (const value of ["one", "two"]) await answer(value);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  const fork = await world.ask((client) => client.fork(run.runId, { from: "ship" }));
  await answer("three");
  expect(await world.run(fork)).toMatchObject({ status: "completed", result: ["one", "three"] });
  for (const from of ["end", "approval#2"]) {
    await world.ask((client) => client.restart(fork.runId, { from }));
    expect(await world.run(fork)).toMatchObject({ status: "completed", result: ["one", "three"] });
  }
  expect(tokens).toHaveLength(3);
});

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

test.each(["restart", "fork"] as const)(
  "a record of a %s is never older than those that were kept, though the clock was set back",
  async (verb) => {
    const times: Date[] = [];
    const world = await worldOf(async ({ step }) => {
      await step.run("a", () => 1);
      times.push(step.now());
      await step.all("both", [({ step }) => step.run("b", () => 1), ({ step }) => step.run("c", () => 1)]);
      times.push(step.now());
    });
    const run = await world.start(order, { amount: 1 });
    await world.run(run);
    await world.setClock(-300_000);
    times.length = 0;
    const from = "both[0]/b";
    const { runId } = await world.ask<{ runId: string }>((client) =>
      verb === "fork" ? client.fork(run.runId, { from }) : client.restart(run.runId, { from }),
    );
    await world.run({ runId });
    const { records } = await world.history({ runId });
    const recorded = records.map(({ recordedAt }) => recordedAt.getTime());
    expect(recorded).toEqual(recorded.toSorted());
    expect(times).toEqual(times.toSorted((one, other) => one.getTime() - other.getTime()));
  },
);

test("a step that was undone is not kept", async () => {
  const undone: string[] = [];
  const world = await worldOf(async ({ step }) => {
    await step.run("a", () => "A");
    await step.run("b", () => "B", { compensate: (result) => void undone.push(String(result)) });
    await step.run("c", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 1 } });
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  expect(undone).toEqual(["B"]);
  await expect(world.ask((client) => client.restart(run.runId, { from: "c" }))).rejects.toMatchObject({
    code: "compensated",
    message: `step b of the run ${run.runId} was undone`,
  });
  expect(await world.ask((client) => client.restart(run.runId, { from: "b" }))).toMatchObject({ kept: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1 } });
  expect(undone).toEqual(["B", "B"]);
});

test("a fork goes on from a copy, and the old run stays as it was", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  state.calls = [];
  const newRunId = "019b76da-0000-7000-8000-000000000001";
  const ask = () => world.ask((client) => client.fork(run.runId, { from: "charge", id: "o2", newRunId }));
  expect(await ask()).toEqual({ runId: newRunId, outcome: "forked" });
  expect(await world.run({ runId: newRunId })).toMatchObject({
    id: "o2",
    status: "completed",
    tags: { customer: "c1" },
    result: ["reserve 5", "charge 5", "ship 5"],
    epoch: 1,
  });
  expect(state.calls).toEqual(["charge", "ship"]);
  expect(await ask()).toEqual({ runId: newRunId, outcome: "forked" });
  expect(await world.get(run.runId)).toMatchObject({ id: "o1", status: "failed", epoch: 0 });
  expect((await world.history({ runId: newRunId })).epochs).toMatchObject([{ why: "forked", kept: 1 }]);
});

test("a fork undoes nothing that it has copied", async () => {
  const undone: string[] = [];
  const state = { isBroken: false };
  const world = await worldOf(async ({ step, run }) => {
    const act = (name: string) =>
      step.run(name, () => name, { compensate: () => void undone.push(`${name} of ${run.id ?? "the fork"}`) });
    await act("a");
    await act("b");
    if (state.isBroken) await step.run("c", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 1 } });
  });
  const run = await world.start(order, { amount: 1 }, { id: "first" });
  await world.run(run);
  state.isBroken = true;
  const { runId } = await world.ask((client) => client.fork(run.runId, { from: "b" }));
  expect(await world.run({ runId })).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
  expect(undone).toEqual(["b of the fork"]);
});

test("a fork announces a callback again whose answer it has not copied", async () => {
  const tokens: string[] = [];
  const state = { calls: 0 };
  const world = await worldOf(async ({ step }) => {
    const [approval] = await step.all("both", [
      ({ step }) => step.waitForCallback("approval", ({ token }) => void tokens.push(token)),
      ({ step }) => step.run("look", () => (state.calls += 1)),
    ]);
    return approval;
  });
  const answer = (value: string) =>
    world.ask((client) => client.resolveCallback(tokens.at(-1) ?? "", value, { contract: order }));
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 minute");
  await answer("yes");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "yes" });
  const { runId } = await world.ask((client) => client.fork(run.runId, { from: "both[0]/approval" }));
  await world.pass("1 minute");
  expect(tokens.length).toBe(2);
  expect(await world.get(runId)).toMatchObject({ status: "waiting" });
  await answer("no");
  expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "no" });
  expect(state.calls).toBe(1);
  expect((await world.history({ runId })).epochs).toMatchObject([{ why: "forked", kept: 2 }]);
});

test("a fork makes URLs of its own, also where it goes through what it has copied", async () => {
  const tokens: string[] = [];
  const world = await worldOf(async ({ step }) => {
    const approval = step.createCallback("approval");
    await step.run("a", () => "A");
    await step.run("send", () => void tokens.push(approval.token));
    return await approval.wait();
  });
  const answer = (token: string | undefined, value: string) =>
    world.ask((client) => client.resolveCallback(token ?? "", value, { contract: order }));
  const run = await world.start(order, { amount: 1 });
  await world.pass("1 minute");
  await answer(tokens[0], "yes");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "yes" });
  const { runId } = await world.ask((client) => client.fork(run.runId, { from: "send" }));
  await world.pass("1 minute");
  await world.ask((client) => client.pause(runId));
  await world.ask((client) => client.restart(runId, { from: "send" }));
  await world.pass("1 minute");
  expect(tokens.length).toBe(3);
  await answer(tokens[1], "no");
  expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "no", epoch: 2 });
  await expect(answer(tokens[0], "no")).rejects.toMatchObject({ code: "callback_conflict" });
  await world.ask((client) => client.restart(runId, { from: "approval" }));
  expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "no", epoch: 3 });
});

test("a release that knows no epochs gets none of a run that was restarted", async () => {
  const { world, run } = await aFailedOrder();
  await world.ask((client) => client.restart(run.runId, { from: "charge" }));
  const call = {
    ...{ namespace: world.namespace, environment: "default", endpoint: database.query.endpoint, leaseMs: 30_000 },
    ...{ versions: { order: [1] }, maxClaims: 5, maxBeginnings: 3, movesDue: true },
    turns: [{ runId: run.runId, turn: (await world.get(run.runId)).turn, token: world.chance.uuid(), alone: false }],
  };
  const { rows } = await database.pool.query("select layover.claim_turns($1) as answer", [JSON.stringify(call)]);
  expect(rows[0]?.answer.turns).toMatchObject([{ outcome: "not_here" }]);
});
