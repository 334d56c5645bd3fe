/** The timeout of a run that begins again, also of one whose timeout its release did not write down. */
import { type Duration, workflow } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { order, ordersOn } from "./orders.ts";
import { World } from "./world.ts";

const database = testDatabase();
const day = 86_400_000;
const { worldOf } = ordersOn(database);

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
