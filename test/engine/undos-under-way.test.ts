/** Undos that are under way while their run is paused, resumed or terminated, while a process dies, or while the history is full. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const minute = 60_000;

describe("an undo", () => {
  test("waits while its run is paused, and goes on when it is resumed", async () => {
    const done: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      const compensate = ({ attempt }: { attempt: number }) => {
        done.push(`try ${attempt}`);
        if (attempt < 2) throw new Error("down");
      };
      await step.run("charge", () => 1, {
        compensate: { run: (_, context) => compensate(context), retry: { delay: "5 minutes", jitter: false } },
      });
      throw new Error("no");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
    await world.ask((client) => client.pause(run.runId));
    await world.pass("1 hour");
    expect([done, (await world.get(run.runId)).status]).toEqual([["try 1"], "paused"]);
    await world.ask((client) => client.resume(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    expect(done).toEqual(["try 1", "try 2"]);
  });

  test("is not begun after the run was terminated", async () => {
    const done: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: { run: () => Promise.reject(new Error("down")), retry: { delay: "5 minutes", jitter: false } },
      });
      throw new Error("no");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.terminate(run.runId));
    await world.pass("1 hour");
    expect([done, (await world.get(run.runId)).status]).toEqual([[], "cancelled"]);
  });

  test("goes on where the process dies after it, and none is carried out twice that was recorded", async () => {
    const done: string[] = [];
    const { world, view } = await play(database, async ({ step }, world) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: async (_, { attempt }) => {
          done.push("undo b");
          if (world.time < minute && attempt === 1) await world.die();
        },
      });
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done).toEqual(["undo b", "undo b", "undo a"]);
    expect(world.time).toBeLessThan(5 * minute);
  });

  test("has room in a history that is full", async () => {
    const done: string[] = [];
    const { view } = await play(database, async ({ step }) => {
      await step.run("first", () => 1, { compensate: () => void done.push("undo first") });
      for (;;) await step.sleep("nothing", 0);
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "history_limit" } });
    expect(done).toEqual(["undo first"]);
  });
});
