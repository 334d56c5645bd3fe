/** A parent that is retried waits for the runs of before. Each of them keeps its id, whenever the retry asks for it. */
import { ChildFailedError, workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, type TestedStep, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const once = { retry: { maxAttempts: 1 } };

const child = workflow({ name: "child", version: 1, signals: { go: z.unknown() } });

/** Runs whose children wait for an hour and fail. */
const family = (handle: TestedHandler) =>
  World.begin(database, {
    workflows: [
      tested.handler(handle),
      child.handler(async ({ step }) => void (await step.waitForSignal("go", { timeout: "1 hour" }))),
    ],
  });

/** Retries the child of a failed run and, while that works, the run. Answers how that has failed again, and the child's id. */
async function failedAgain(world: World, run: { readonly runId: string }) {
  const { runs } = await world.ask((client) => client.list({ workflow: child.name }));
  const childId = runs[0]?.runId ?? "";
  expect(runs).toHaveLength(1);
  await world.pass("1 day");
  await world.ask((client) => client.retry(childId));
  await world.pass("10 minutes");
  expect(await world.ask((client) => client.retry(run.runId))).toMatchObject({ outcome: "retried" });
  const view = await world.run(run);
  expect(view).toMatchObject({ status: "failed" });
  return { view, childId };
}

async function aFailed(handle: TestedHandler) {
  const world = await family(handle);
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  return { world, run };
}

const invoke = (step: TestedStep) => step.invoke("it", child);

test.each<[string, (step: TestedStep) => Promise<unknown>]>([
  ["that is asked for after what the retry keeps", (step) => step.run("a", () => 1).then(() => invoke(step))],
  ["of a parent of which the retry keeps nothing", invoke],
  [
    "that is asked for after a failure, which comes later this time",
    (step) =>
      step
        .run("charge", () => Promise.reject(new Error("down")), once)
        .catch(async (cause) => {
          await invoke(step).catch((error: unknown) => {
            if (error instanceof Error) error.cause = cause;
            throw error;
          });
        }),
  ],
])("the error of a run names the run %s, also when it fails again", async (_, handle) => {
  const named: string[] = [];
  const { world, run } = await aFailed(async ({ step }) => {
    await handle(step).catch((error: unknown) => {
      if (error instanceof ChildFailedError) named.push(error.runId);
      throw error;
    });
  });
  for (let times = 0; times < 2; times += 1) {
    const { view, childId } = await failedAgain(world, run);
    expect(new Set(named)).toEqual(new Set([childId]));
    expect(view.error?.message).toContain(childId);
    expect(await world.get(named.at(-1) ?? "")).toMatchObject({ status: "failed" });
  }
});

test.each([
  ["has failed again", "2 hours"],
  ["goes on after the wait for it has timed out again", "30 minutes"],
] as const)("the undo of a run that %s is told the id of that run", async (_, timeout) => {
  const undone: string[] = [];
  let isUndone = false;
  const { world, run } = await aFailed(async ({ step }) => {
    const compensate = (_: unknown, { original }: { original: { runId: string } }) => void undone.push(original.runId);
    await step.run("a", () => 1);
    await step.invoke("it", child, undefined, { timeout, onParentEnd: "abandon", ...(isUndone && { compensate }) });
  });
  isUndone = true;
  await world.deploy({});
  const { childId } = await failedAgain(world, run);
  expect(undone).toEqual([childId]);
});
