/** Cancel, in the course of a run: what is told, what cleans up, and how it ends. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const cancel = (world: World, run: { readonly runId: string }, reason?: string) =>
  world.ask((client) => client.cancel(run.runId, reason === undefined ? {} : { reason }));

/** Begins a run, and cancels it after `after`. */
async function cancelled(handle: TestedHandler, { after = "1 minute" } = {}) {
  const world = await worldOf(database, handle);
  const run = await world.start(tested);
  await world.pass(after);
  await cancel(world, run, "ordered twice");
  return { world, run };
}

describe("a run that is cancelled", () => {
  test("is told where it waits, and ends as cancelled with the reason", async () => {
    const seen: unknown[] = [];
    const { world, run } = await cancelled(async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } catch (error) {
        seen.push(error);
        throw error;
      }
    });
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({
      status: "cancelled",
      error: { name: "CancelledError", message: "the run was cancelled: ordered twice" },
    });
    expect(seen).toMatchObject([{ name: "CancelledError", reason: "ordered twice" }]);
  });

  test("cleans up by its cleanups, with their retries and sleeps, and refuses all else", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await expect(step.run("other", () => done.push("other"))).rejects.toMatchObject({ name: "CancelledError" });
        await step.cleanup("release", async (room) => {
          await room.step.run("unlock", ({ attempt }) => {
            if (attempt < 3) throw new Error("later");
            done.push("unlock");
          });
          await room.step.sleep("settle", "5 minutes");
          await room.step.run("tell", () => done.push("tell"));
        });
      }
    });
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["unlock", "tell"]);
    expect((await world.history(run)).records.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "closing ",
      "step release/unlock",
      "sleep release/settle",
      "step release/tell",
    ]);
  });
});
