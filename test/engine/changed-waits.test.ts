/** What a run waits for ends when that was demanded for, whatever the code says by the time that it is replayed. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedStep, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const hour = 3_600_000;

const waits: Readonly<Record<string, (step: TestedStep, hours: number) => Promise<unknown>>> = {
  "a sleep": (step, hours) => step.sleep("nap", `${hours} hours`),
  "a wait for a signal": (step, hours) => step.waitForSignal("go", { timeout: `${hours} hours`, onTimeout: "null" }),
  "a wait for a callback": (step, hours) =>
    step.waitForCallback("approval", () => {}, { timeout: `${hours} hours`, onTimeout: "null" }),
};

test.each(Object.entries(waits))("%s that new code makes longer ends when it was to end", async (_, wait) => {
  const waiting = (hours: number) =>
    tested.handler(async ({ step }) => {
      await wait(step, hours);
      return hours;
    });
  const world = await World.begin(database, { workflows: [waiting(1)] });
  const run = await world.start(tested);
  await world.pass("1 minute");
  await world.deploy({ workflows: [waiting(2)] });
  await world.pass("61 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: 2 });
  expect(world.statements("claim_turns")).toBeLessThanOrEqual(4);
});

test("a sleep until an instant that a handler reckons anew at each replay ends when it was to end first", async () => {
  const world: World = await World.begin(database, {
    workflows: [tested.handler(({ step }) => step.sleepUntil("nap", new Date(world.now + hour)))],
    warmRuns: 0,
  });
  const run = await world.start(tested);
  await world.pass("62 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  expect(world.statements("claim_turns")).toBeLessThanOrEqual(3);
});
