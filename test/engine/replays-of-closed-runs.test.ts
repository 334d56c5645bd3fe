/** The code of a run that closed before its time fits the history that it made, and says so when it is replayed outside of the engine. */
import { workflow } from "layover";
import { replay } from "layover/testing";
import { expect, test } from "vitest";
import { readWhole } from "../../src/client/over-postgres/stored-runs.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { testDatabase } from "../postgres/database.ts";
import { cancel } from "./cancelling.ts";
import { World } from "./world.ts";

const database = testDatabase();
const bounded = workflow({ name: "bounded", version: 1, timeout: "1 hour" });
type Handle = Parameters<typeof bounded.handler>[0];

const waits: Handle = async ({ step }) => {
  try {
    await step.sleep("nap", "2 hours");
  } finally {
    await step.cleanup("tidy", ({ step }) => step.run("unlock", () => 1));
  }
};

const throws: Handle = async ({ step }) =>
  Promise.all([
    step.cleanup("tidy", ({ step }) => step.sleep("settle", "30 minutes")),
    step.run("charge", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 1 } }),
  ]);

const nothing = async () => {};

test.each<readonly [string, Handle, (world: World, runId: string) => Promise<unknown>, string]>([
  ["at its timeout", waits, nothing, "failed"],
  ["by a cancel", waits, (world, runId) => cancel(world, { runId }), "cancelled"],
  ["since its handler threw amid a cleanup", throws, nothing, "failed"],
])("a run that closed %s fits its code at each instant", async (_, handle, act, status) => {
  const handler = bounded.handler(handle);
  const world = await World.begin(database, { workflows: [handler] });
  const run = await world.start(bounded);
  await world.pass("1 minute");
  const calls = makeCalls({ query: world.database.query, namespace: world.namespace, alarm: async () => {} });
  const verdict = async () => {
    const stored = await readWhole(calls, { runId: run.runId });
    if (stored === undefined) throw new Error("There is no such run.");
    return await replay(stored, { workflows: [handler] });
  };
  expect(await verdict()).toMatchObject({ outcome: "fits" });
  await act(world, run.runId);
  expect(await verdict()).toMatchObject({ outcome: "fits" });
  expect(await world.run(run)).toMatchObject({ status });
  expect(await verdict()).toMatchObject({ outcome: "fits" });
});
