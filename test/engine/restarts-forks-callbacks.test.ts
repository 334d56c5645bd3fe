/** The callbacks of a fork: which of them it announces again, once, with a URL that leads to the fork. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();

const order = workflow({
  name: "order",
  version: 1,
  signals: { go: z.unknown() },
  callbacks: { approval: z.string() },
});
type Handle = Parameters<typeof order.handler>[0];
type Step = Parameters<Handle>[0]["step"];

/** `tokens`: each token that was told, by what told it. */
async function worldOf(
  handle: (step: Step, tokens: { push(token: string): void }) => Promise<unknown>,
  options: { readonly claimBytes?: number } = {},
) {
  const tokens: string[] = [];
  const world = await World.begin(database, {
    ...options,
    workflows: [order.handler(({ step }) => handle(step, tokens))],
  });
  const answer = (value: string, token = tokens.at(-1) ?? "") =>
    world.ask((client) => client.resolveCallback(token, value, { contract: order }));
  const fork = ({ runId }: { readonly runId: string }, from: string) =>
    world.ask((client) => client.fork(runId, { from }));
  return { tokens, world, answer, fork };
}

test("one that nobody had answered when its run failed is announced again, and can be answered", async () => {
  let isBroken = true;
  const { tokens, world, answer, fork } = await worldOf(async (step, told) => {
    const approval = step.waitForCallback("approval", ({ token }) => void told.push(token));
    await step.sleep("a while", "1 minute");
    await step.run("ship", () => void (isBroken && fail()), { retry: { maxAttempts: 1 } });
    return await approval;
  });
  const run = await world.start(order);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  isBroken = false;
  await world.pass("400 days");
  const forked = await fork(run, "ship");
  await world.pass("1 minute");
  expect(tokens).toHaveLength(2);
  await answer("yes");
  expect(await world.run(forked)).toMatchObject({ status: "completed", result: "yes" });
});

test("one whose answer is copied is not announced again, though one of its name ahead of it had no announcement of this kind", async () => {
  const { tokens, world, answer, fork } = await worldOf(async (step, told) => {
    const own = step.createCallback("approval");
    const first = own.wait({ timeout: "1 day", onTimeout: "null" });
    const second = await step.waitForCallback("approval", ({ token }) => void told.push(token));
    await step.run("ship", () => 1);
    return [second, await first];
  });
  const run = await world.start(order);
  await world.pass("1 minute");
  await answer("yes");
  await world.pass("2 days");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["yes", null] });
  const forked = await fork(run, "ship");
  await world.pass("2 days");
  expect(await world.run(forked)).toMatchObject({ status: "completed", result: ["yes", null] });
  expect(tokens).toHaveLength(1);
});

test("a history of many pages tells which answers are copied, though they come many pages after their announcements", async () => {
  const one = async (step: Step, told: { push(token: string): void }) => {
    const approvals = ["first", "second"].map((name) =>
      step.scope(name, ({ step }) => step.waitForCallback("approval", ({ token }) => void told.push(token))),
    );
    for (let nr = 0; nr < 6; nr += 1) await step.run("part", () => "x".repeat(500));
    const first = await approvals[0];
    for (let nr = 0; nr < 6; nr += 1) await step.run("more", () => "x".repeat(500));
    return [first, await approvals[1]];
  };
  const { tokens, world, answer, fork } = await worldOf(one, { claimBytes: 600 });
  const run = await world.start(order);
  await world.pass("1 minute");
  await answer("one", tokens[0]);
  await world.pass("1 minute");
  await answer("two", tokens[1]);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["one", "two"] });
  const forked = await fork(run, "second/approval");
  await world.pass("1 minute");
  expect(tokens).toHaveLength(3);
  await answer("three");
  expect(await world.run(forked)).toMatchObject({ status: "completed", result: ["one", "three"] });
});

test("one that had lost a race is not announced again", async () => {
  const { tokens, world, fork } = await worldOf(async (step, told) => {
    const winner = await step.race("either", [
      async ({ step }) => step.waitForCallback("approval", ({ token }) => void told.push(token)),
      async ({ step }) => step.sleep("a while", "1 minute"),
    ]);
    return await step.run("ship", () => winner ?? "nobody");
  });
  const run = await world.start(order);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "nobody" });
  const forked = await fork(run, "ship");
  expect(await world.run(forked)).toMatchObject({ status: "completed", result: "nobody" });
  expect(tokens).toHaveLength(1);
});

test("one that timed out is announced again by a fork, or by the retry of a fork, and waits its whole time", async () => {
  const { tokens, world, answer, fork } = await worldOf(async (step, told) => {
    await step.run("reserve", () => 1);
    const approval = await step.waitForCallback("approval", ({ token }) => void told.push(token), { timeout: "1 day" });
    return await step.run("ship", () => approval);
  });
  const run = await world.start(order);
  await world.pass("2 days");
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  const forked = await fork(run, "approval");
  await world.pass("23 hours");
  expect(tokens).toHaveLength(2);
  expect(await world.get(forked.runId)).toMatchObject({ status: "waiting" });
  await world.pass("2 hours");
  expect(await world.get(forked.runId)).toMatchObject({ status: "failed" });
  await world.ask((client) => client.retry(forked.runId));
  await world.pass("1 minute");
  expect(tokens).toHaveLength(2);
  await answer("late");
  expect(await world.run(forked)).toMatchObject({ status: "completed", result: "late" });
});

test("one that fails to be announced again fails its fork, as the first announcement would", async () => {
  let isDown = false;
  const { world, answer, fork } = await worldOf(async (step, told) => {
    const announce = ({ token }: { readonly token: string }) => (isDown ? fail() : void told.push(token));
    const approval = await step.waitForCallback("approval", announce, { retry: { maxAttempts: 1 } });
    return await step.run("ship", () => approval);
  });
  const run = await world.start(order);
  await world.pass("1 minute");
  await answer("yes");
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  isDown = true;
  const forked = await fork(run, "approval");
  expect(await world.run(forked)).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("down") },
  });
});

function fail(): never {
  throw new Error("down");
}
