/** Callbacks of a run that begins again and of its forks: which URLs live, and what is announced anew. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { order, ordersOn } from "./orders.ts";

const database = testDatabase();
const { worldOf } = ordersOn(database);

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
