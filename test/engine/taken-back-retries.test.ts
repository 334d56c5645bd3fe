/** A retry is taken back if its first turn finds that no code fits. A run that has gone on since is blocked, as any other. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const once = { retry: { maxAttempts: 1 } };
const tried = workflow({ name: "tried", version: 1, signals: { go: z.string() } });
type Handle = Parameters<typeof tried.handler>[0];

const waiting: Handle = async ({ step }) => {
  await step.run("first", () => 1);
  return await step.waitForSignal("go", { timeout: "1 day" });
};
const other: Handle = async ({ step }) => {
  await step.run("another", () => 1);
};

/** A run that has failed since it waited in vain. */
async function aFailedWait(world: World) {
  const run = await world.start(tried);
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "TimeoutError" } });
  return run;
}

test("a run that waits again after its retry is blocked by other code, and goes on by its own", async () => {
  const world = await World.begin(database, { workflows: [tried.handler(waiting)] });
  const run = await aFailedWait(world);
  await world.ask((client) => client.retry(run.runId));
  await world.pass("20 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "waiting", epoch: 1 });
  await world.deploy({ workflows: [tried.handler(other)] });
  await world.signal(run, tried, "go", "at last");
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "blocked", epoch: 1 });
  expect((await world.history(run)).operations).toMatchObject([{ verb: "retry", verdict: "retried" }]);
  await world.deploy({ workflows: [tried.handler(waiting)] });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "at last" });
});

test("a run whose body may have begun after its retry is blocked by other code", async () => {
  const state = { isBroken: true, isOther: false };
  const bodies: string[] = [];
  const world: World = await World.begin(database, {
    workflows: [
      tried.handler(async ({ step }) => {
        await step.run(state.isOther ? "another" : "first", () => 1);
        await step.run(
          "fax",
          () => {
            bodies.push("fax");
            if (state.isBroken) throw new Error("the line is broken");
            state.isOther = true;
            return world.die();
          },
          { ...once, semantics: "at-most-once" },
        );
      }),
    ],
  });
  const run = await world.start(tried);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("2 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "blocked", epoch: 1 });
  state.isOther = false;
  await world.deploy({});
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { cause: { code: "interrupted" } } });
  expect(bodies).toEqual(["fax", "fax"]);
});

const build = (id: string, handle: Handle) => ({
  deployment: { name: "server", id },
  workflows: [tried.handler(handle)],
});

/** A run that has failed where two deployments have served it. */
async function aFailedRunOfTwo(main: Handle, canary: Handle) {
  const world = await World.begin(database, { ...build("main", main), beside: [build("canary", canary)] });
  world.served = "main";
  const run = await aFailedWait(world);
  for (const id of ["main", "canary"]) {
    await world.pass("1s");
    world.served = id;
    await world.tick();
  }
  return { world, run };
}

test("a retry whose first turn a canary refuses goes on by the code that fits", async () => {
  const { world, run } = await aFailedRunOfTwo(waiting, other);
  await world.ask((client) => client.retry(run.runId));
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({
    ...{ epoch: 1, blocked: undefined, error: undefined },
    refusedBy: [{ deployment: "canary" }],
  });
  world.served = "main";
  await world.pass("10 minutes");
  await world.signal(run, tried, "go", "at last");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "at last" });
});

test("a retry that all deployments refuse, one after the other, is taken back", async () => {
  const state = { isOther: false };
  const changing: Handle = (context) => (state.isOther ? other(context) : waiting(context));
  const { world, run } = await aFailedRunOfTwo(changing, changing);
  state.isOther = true;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ epoch: 1, refusedBy: [{ deployment: "canary" }] });
  world.served = "main";
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0, error: { name: "TimeoutError" } });
  expect((await world.history(run)).operations).toMatchObject([{ verb: "retry", verdict: "would_repeat" }]);
});

test("a retry that is taken back leaves no signal of its own behind, and each that came meanwhile", async () => {
  const state = { isOther: true };
  const handle: Handle = async ({ step }) => {
    await step.run("first", () => 1);
    const word = () => step.waitForSignal("go", { timeout: "1 day" });
    return `${await word()}, then ${await word()}`;
  };
  const changing: Handle = (context) => (state.isOther ? other : handle)(context);
  const world = await World.begin(database, { workflows: [tried.handler(handle)] });
  const run = await aFailedWait(world);
  const retry = (payload: string) =>
    world.ask((client) => client.retry(run.runId, { signal: { name: "go", payload }, contract: tried }));
  await world.deploy({ workflows: [tried.handler(changing)] });
  await retry("a slip of the pen");
  await world.signal(run, tried, "go", "meanwhile");
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0 });
  state.isOther = false;
  await retry("corrected");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "meanwhile, then corrected" });
});

test("a retry of failed undos that is taken back can be asked for again", async () => {
  const undone: string[] = [];
  const state = { isBroken: true, isOther: false };
  const handle: Handle = async ({ step }) => {
    for (const name of state.isOther ? ["other"] : ["a", "b"])
      await step.run(name, () => name, {
        compensate: {
          run: () => {
            if (name === "b" && state.isBroken) throw new Error("no");
            undone.push(name);
          },
          ...once,
        },
      });
    await step.run("c", () => Promise.reject(new Error("no")), once);
  };
  const world = await World.begin(database, { workflows: [tried.handler(handle)] });
  const run = await world.start(tried);
  const failed = await world.run(run);
  expect(failed).toMatchObject({ status: "failed", undos: { owed: 2, done: 2, failed: 1 } });
  state.isOther = true;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("10 minutes");
  const { status, error, undos } = failed;
  expect(await world.get(run.runId)).toMatchObject({ epoch: 0, status, error, undos });
  Object.assign(state, { isBroken: false, isOther: false });
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 2, done: 2, failed: 0 } });
  expect(undone).toEqual(["a", "b"]);
});

const parent = workflow({ name: "parent", version: 1 });

test.each([
  ["input", "update layover.run set input = '?' where id = $1"],
  ["mail", "update layover.signal set payload = '2stored.?' where run_id = $1"],
])(
  "a parent that waits again goes on at once where the retry of its child is taken back, since its %s cannot be read",
  async (_, damage) => {
    const invoking = parent.handler(({ step }) => step.invoke("it", tried));
    const world = await World.begin(database, { workflows: [tried.handler(waiting), invoking] });
    const run = await world.start(parent);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    const { runs } = await world.ask((client) => client.list({ workflow: tried.name }));
    const runId = runs[0]?.runId ?? "";
    await world.ask((client) => client.retry(runId, { signal: { name: "go", payload: "on" }, contract: tried }));
    await world.ask((client) => client.pause(runId));
    await world.ask((client) => client.retry(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting", epoch: 1 });
    await database.pool.query(damage, [runId]);
    await world.ask((client) => client.resume(runId));
    await world.settle();
    expect(await world.get(runId)).toMatchObject({ status: "failed", epoch: 0 });
    expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 1 });
  },
);
