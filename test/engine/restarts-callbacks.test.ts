/** Callbacks of a run that begins again and of its forks: which URLs live, and what is announced anew. */
import { NonRetryableError } from "layover";
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

test("the URL of a callback lives after a retry, also one that was announced after the failure, and is not announced again", async () => {
  const tokens: Record<string, string[]> = { early: [], beside: [] };
  const state = { isBroken: true };
  const world = await worldOf(async ({ step }) => {
    const early = step.createCallback("approval");
    const failed = step
      .run("ship", () => {
        tokens["early"]?.push(early.token);
        if (state.isBroken) throw new NonRetryableError("no van");
      })
      .catch((error: unknown) => ({ error }));
    const beside = step.all("beside", [
      async ({ step }) => {
        await step.run("look", () => world.foreign("10 seconds"));
        return await step.waitForCallback("approval", ({ token }) => void tokens["beside"]?.push(token));
      },
    ]);
    beside.catch(() => {});
    await step.sleep("nap", "1 hour");
    const failure = await failed;
    if (failure !== undefined) throw failure.error;
    return [await early.wait(), ...(await beside)];
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  await world.pass("1 day");
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("1 day");
  expect(tokens["beside"]).toHaveLength(1);
  for (const name of ["early", "beside"])
    await world.ask((client) => client.resolveCallback(tokens[name]?.[0] ?? "", name, { contract: order }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["early", "beside"], epoch: 1 });
});

test.each([
  ["at once", 0],
  ["once it waits again", 60_000],
] as const)(
  "a URL that a retry has moved lives after a restart behind its wait, and is answered %s",
  async (_, waitedMs) => {
    const tokens: string[] = [];
    const state = { isBroken: true };
    const world = await worldOf(async ({ step }) => {
      const ships = Promise.allSettled(
        ["x", "y", "z"].map((name) =>
          step.run(name, () => {
            if (state.isBroken) throw new NonRetryableError("no van");
          }),
        ),
      );
      const beside = step.all("beside", [
        async ({ step }) => {
          await step.run("look", () => world.foreign("10 seconds"));
          return await step.waitForCallback("approval", ({ token }) => void tokens.push(token));
        },
      ]);
      beside.catch(() => {});
      await step.sleep("nap", "1 hour");
      for (const ship of await ships) if (ship.status === "rejected") throw ship.reason;
      return await beside;
    });
    const run = await world.start(order, { amount: 1 });
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    state.isBroken = false;
    await world.ask((client) => client.retry(run.runId));
    await world.pass("1 day");
    await world.ask((client) => client.pause(run.runId));
    await world.ask((client) => client.restart(run.runId, { from: "x" }));
    await world.pass(waitedMs);
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "yes", { contract: order }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["yes"], epoch: 2 });
    expect(tokens).toHaveLength(1);
  },
);

test("a URL that was made after a retry is dead after a restart ahead of it, though its place does not wait yet", async () => {
  const tokens: string[] = [];
  const state = { isBroken: true };
  const world = await worldOf(async ({ step }) => {
    await step.run("ship", () => {
      if (state.isBroken) throw new NonRetryableError("no van");
    });
    await step.run("bill", () => 1);
    await step.sleep("nap", "1 hour");
    return await step.waitForCallback("approval", ({ token }) => void tokens.push(token));
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("2 hours");
  await world.ask((client) => client.pause(run.runId));
  await world.ask((client) => client.restart(run.runId, { from: "bill" }));
  await world.pass("1 minute");
  const answer = (token: string | undefined) =>
    world.ask((client) => client.resolveCallback(token ?? "", "yes", { contract: order }));
  await expect(answer(tokens[0])).rejects.toMatchObject({ code: "callback_expired" });
  await world.pass("2 hours");
  await answer(tokens[1]);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "yes", epoch: 2 });
});

test("a run whose failure made a callback is not retried: an answer to that would answer the next callback of its name", async () => {
  const tokens: string[] = [];
  const state = { isBroken: true };
  const world = await worldOf(async ({ step }) => {
    try {
      await step.run("ship", () => {
        if (state.isBroken) throw new NonRetryableError("no van");
      });
    } catch (error) {
      tokens.push(step.createCallback("approval", { title: "Do you accept our apology?" }).token);
      throw error;
    }
    return await step.createCallback("approval", { title: "May we charge you?" }).wait({ timeout: "1 hour" });
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  state.isBroken = false;
  await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
    code: "would_repeat",
    message: "what succeeded or was asked after the failure cannot be kept: approval",
  });
  await world.ask((client) => client.restart(run.runId));
  await world.pass("1 minute");
  const answer = world.ask((client) => client.resolveCallback(tokens[0] ?? "", "yes, I accept", { contract: order }));
  await expect(answer).rejects.toMatchObject({ code: "callback_expired" });
  expect(await world.run(run)).toMatchObject({ status: "failed", epoch: 1 });
});

test("a run is retried though code that goes on after its failure has made a callback: nobody was told of that", async () => {
  const tokens: string[] = [];
  const state = { isBroken: true };
  const world = await worldOf(async ({ step }) => {
    const ship = step.run("ship", () => {
      if (state.isBroken) throw new NonRetryableError("no van");
    });
    const charge = step.run("charge", () => world.foreign("30s"), { semantics: "at-most-once" });
    const ask = async () => {
      await step.run("look", () => world.foreign("10s"));
      return await step.waitForCallback("approval", ({ token }) => void tokens.push(token));
    };
    const [, , said] = await Promise.all([ship, charge, ask()]);
    return said;
  });
  const run = await world.start(order, { amount: 1 });
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  expect(tokens).toEqual([]);
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("1 minute");
  expect(tokens).toHaveLength(1);
  await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "yes", { contract: order }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "yes" });
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
