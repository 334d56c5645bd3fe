/** A run that is retried before its parent has taken its failure: the parent waits for it again, and whatever ends that wait ends it. */
import { NonRetryableError } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { type TestedHandler, tested } from "./playing.ts";
import type { World } from "./world.ts";

const family = familiesOn(testDatabase());

const invoking: (notes: string[]) => TestedHandler =
  (notes) =>
  async ({ step }) =>
    await step.invoke("it", child, { nr: 1 }, { compensate: (_, { outcome }) => void notes.push(`undo ${outcome}`) });

/**
 * A paused parent, whose child has failed and was retried since: it is amid a long sleep. If it is asked to end, it takes ten
 * minutes for that.
 */
async function aRetriedChild(handler = invoking) {
  const notes: string[] = [];
  let isDown = true;
  const working = child.handler(async ({ step, input: { nr } }) => {
    await step.sleep("short", "1 hour");
    if (isDown) throw new NonRetryableError("down");
    try {
      await step.sleep("long", "1 day");
    } catch (error) {
      await step.cleanup("tidy", ({ step }) => step.sleep("slowly", "10 minutes"));
      notes.push("child ends");
      throw error;
    }
    return `child ${nr}`;
  });
  const world = await family(handler(notes), working);
  const run = await world.start(tested);
  await world.pass("10 minutes");
  await world.ask((client) => client.pause(run.runId));
  await world.pass("2 hours");
  const childId = (await childrenOf(world))[0]?.runId ?? "";
  expect(await world.get(childId)).toMatchObject({ status: "failed" });
  isDown = false;
  expect(await world.ask((client) => client.retry(childId))).toMatchObject({ outcome: "retried" });
  await world.pass("1 hour");
  return { world, run, childId, notes };
}

test("it is asked to end where its parent is cancelled, and is undone after its end", async () => {
  const { world, run, childId, notes } = await aRetriedChild();
  await world.ask((client) => client.cancel(run.runId));
  await world.pass("5 minutes");
  expect(notes).toEqual([]);
  expect(await world.get(childId)).toMatchObject({ status: "cancelling" });
  await world.pass("1 hour");
  expect(new Set(notes)).toEqual(new Set(["child ends", "undo unknown"]));
  expect(notes.at(-1)).toBe("undo unknown");
  expect(await world.get(childId)).toMatchObject({ status: "cancelled" });
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1 } });
});

test.each<readonly [what: string, stop: (world: World, runId: string) => Promise<unknown>]>([
  ["terminated", (world, runId) => world.ask((client) => client.terminate(runId))],
  ["restarted", (world, runId) => world.ask((client) => client.restart(runId))],
])("it is asked to end where its parent is %s", async (_, stop) => {
  const { world, run, childId } = await aRetriedChild();
  await stop(world, run.runId);
  await world.pass("1 hour");
  expect(await world.get(childId)).toMatchObject({ status: "cancelled" });
});

test("its parent takes the end that it comes to, and no other", async () => {
  const { world, run } = await aRetriedChild();
  await world.ask((client) => client.resume(run.runId));
  await world.pass("1 hour");
  expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "child 1" });
  expect((await world.history(run)).records).toMatchObject([{ kind: "child", path: "it" }]);
});
