/** Restarts that are refused, since the run is under way or its history does not allow them. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { order, ordersOn } from "./orders.ts";

const database = testDatabase();
const { worldOf, aFailedOrder } = ordersOn(database);

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
