/** A run that is being undone: what people do to it, what a deploy does to it, and what its undos are given. */
import { type Step, workflow } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const declined = () => Promise.reject(new Error("no"));

/** Two steps, `a` and `b`. The undo of `b` fails twice, with an hour between its attempts. */
function trip() {
  const done: string[] = [];
  const act = async (step: Pick<Step, "run">) => {
    await step.run("a", () => "A", { compensate: (result) => void done.push(`undo ${String(result)}`) });
    await step.run("b", () => "B", {
      compensate: {
        run: (result, { attempt }) => {
          if (attempt <= 2) throw new Error("busy");
          done.push(`undo ${String(result)} at attempt ${attempt}`);
        },
        retry: { maxAttempts: 5, delay: "1 hour", maxDelay: "1 hour", jitter: false },
      },
    });
  };
  return { done, act };
}

/** A run that has failed, and whose undo of `b` has failed once. */
async function aTrip() {
  const { done, act } = trip();
  const world = await worldOf(database, async ({ step }) => {
    await act(step);
    await step.run("c", declined, { retry: { maxAttempts: 1 } });
  });
  const run = await world.start(tested);
  await world.pass("10 minutes");
  return { done, world, run };
}

test("a run whose timeout passes is undone, and fails by its timeout", async () => {
  const { done, act } = trip();
  const timed = workflow({ name: "timed", version: 1, timeout: "1 hour" });
  const timedWorkflow = timed.handler(async ({ step }) => {
    await act(step);
    await step.sleep("nap", "1 day");
  });
  const world = await World.begin(database, { workflows: [timedWorkflow] });
  const run = await world.start(timed);
  await world.pass("5 hours");
  expect(await world.get(run.runId)).toMatchObject({
    status: "failed",
    error: { name: "LayoverError", code: "run_timeout" },
    undos: { owed: 2, done: 2, failed: 0 },
  });
  expect(done).toEqual(["undo B at attempt 3", "undo A"]);
});

test("a run that is being undone tells how far it is, and is over when all undos have ended", async () => {
  const { done, world, run } = await aTrip();
  const undos = { owed: 2, done: 0, failed: undefined };
  expect(await world.get(run.runId)).toMatchObject({ status: "compensating", error: undefined, undos });
  await world.pass("3 hours");
  expect(await world.get(run.runId)).toMatchObject({
    status: "failed",
    error: { name: "StepError" },
    undos: { owed: 2, done: 2, failed: 0 },
  });
  expect(done).toEqual(["undo B at attempt 3", "undo A"]);
});

test("a run that is paused while it is undone begins no undo until it is resumed", async () => {
  const { done, world, run } = await aTrip();
  await world.ask((client) => client.pause(run.runId));
  await world.pass("1 day");
  expect(done).toEqual([]);
  expect(await world.get(run.runId)).toMatchObject({ status: "paused", undos: { done: 0 } });
  await world.ask((client) => client.resume(run.runId));
  await world.pass("3 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", undos: { done: 2, failed: 0 } });
});

test.each([
  ["paused", (world: World, runId: string) => world.ask((client) => client.pause(runId))],
  [
    "blocked",
    async (world: World) => {
      const handler = tested.handler(async ({ step }) => step.sleep("another", "1 minute"));
      await world.deploy({ workflows: [handler], deployment: { name: "world", id: "other" } });
      await world.pass("2 hours");
    },
  ],
] as const)("a run that is %s while it is undone is not restarted, and its undos are kept", async (status, stop) => {
  const { world, run } = await aTrip();
  await stop(world, run.runId);
  expect(await world.get(run.runId)).toMatchObject({ status });
  for (const from of [undefined, "c"])
    await expect(world.ask((client) => client.restart(run.runId, { from }))).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is compensating, so it cannot be restarted`,
      hint: expect.stringContaining("terminate it"),
      details: { runStatus: "compensating" },
    });
  await expect(world.ask((client) => client.planRestart(run.runId))).rejects.toMatchObject({ code: "not_applicable" });
  expect(await world.get(run.runId)).toMatchObject({ epoch: 0, undos: { owed: 2, done: 0 } });
  await world.ask((client) => client.terminate(run.runId));
  expect(await world.ask((client) => client.restart(run.runId))).toMatchObject({ epoch: 1 });
});

test("a run that is terminated while it is undone leaves the other undos", async () => {
  const { done, world, run } = await aTrip();
  await world.ask((client) => client.terminate(run.runId, { by: "ada" }));
  await world.pass("1 day");
  const undos = { owed: 2, done: 0, failed: undefined };
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", undos });
  expect(done).toEqual([]);
});

test("an undo that is no longer in the code fails, and the others are carried out", async () => {
  const { done, world, run } = await aTrip();
  const handler = tested.handler(async ({ step }) => {
    await step.run("a", () => "A", { compensate: () => void done.push("undo a by the new code") });
    await step.run("b", () => "B");
    await step.run("c", declined, { retry: { maxAttempts: 1 }, compensate: () => void done.push("undo c") });
  });
  await world.deploy({ workflows: [handler], deployment: { name: "world", id: "new" } });
  await world.pass("1 day");
  expect(done).toEqual(["undo a by the new code"]);
  expect(await world.get(run.runId)).toMatchObject({
    status: "failed",
    error: { data: { compensation: { failed: [{ step: "b", error: { code: "compensation_missing" } }] } } },
    undos: { owed: 2, done: 2, failed: 1 },
  });
});

test("an undo has a key of its own, the same at each attempt, and is told the key of its step", async () => {
  const keys: Record<string, string[]> = { step: [], undo: [], original: [] };
  const world = await worldOf(database, async ({ step }) => {
    await step.run("a", ({ idempotencyKey }) => keys["step"]?.push(idempotencyKey), {
      compensate: (_, { attempt, idempotencyKey, original }) => {
        keys["undo"]?.push(idempotencyKey);
        keys["original"]?.push(original.idempotencyKey);
        if (attempt === 1) throw new Error("again");
      },
    });
    throw new Error("no");
  });
  const run = await world.start(tested);
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed" });
  const [key] = keys["step"] ?? [];
  expect(keys["original"]).toEqual([key, key]);
  expect(new Set(keys["undo"]).size).toBe(1);
  expect(keys["undo"]).not.toContain(key);
});
