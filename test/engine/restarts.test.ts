/** A run that begins again from a step or from its start: what it keeps, and what it carries out again. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { order, ordersOn } from "./orders.ts";

const database = testDatabase();
const day = 86_400_000;
const { worldOf, aFailedOrder } = ordersOn(database);

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
