/** A body that was given up and acts after its undo: its provider knows that its key was given back. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";

const database = testDatabase();

/** A provider that keeps what became of each key. */
function provider() {
  const charges = new Map<string, "charged" | "void">();
  const refusals: string[] = [];
  const charge = (key: string) => {
    if (charges.get(key) !== "void") charges.set(key, "charged");
    else refusals.push(key);
  };
  return { charges, refusals, charge, undo: (key: string) => void charges.set(key, "void") };
}

test.each([
  ["fails", undefined],
  ["is cancelled", "20 seconds"],
] as const)("a body that acts after its run %s and was undone finds its key occupied", async (_, cancelledAfter) => {
  const { charges, refusals, charge, undo } = provider();
  const happened: string[] = [];
  const world = await worldOf(database, async ({ step }) => {
    await step.run(
      "charge",
      async ({ idempotencyKey }) => {
        await world.foreign("10 minutes"); // it takes no notice of its `abortSignal`
        charge(idempotencyKey);
        happened.push("charge");
      },
      {
        retry: { maxAttempts: 1 },
        timeout: "1 minute",
        compensate: (_, { outcome, original }) => {
          undo(original.idempotencyKey);
          happened.push(`undo: ${outcome}`);
        },
      },
    );
  });
  const run = await world.start(tested);
  if (cancelledAfter !== undefined) {
    await world.pass(cancelledAfter);
    await world.ask((client) => client.cancel(run.runId));
  }
  const view = await world.run(run);
  expect([view.status, happened]).toEqual([cancelledAfter === undefined ? "failed" : "cancelled", ["undo: unknown"]]);
  await world.pass("20 minutes");
  expect(happened).toEqual(["undo: unknown", "charge"]);
  expect([...charges.values()]).toEqual(["void"]);
  expect(refusals).toEqual([...charges.keys()]);
});
