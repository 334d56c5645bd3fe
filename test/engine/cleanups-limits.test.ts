/** Cleanups in a history that is full: they have room all the same. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled } from "./cancelling.ts";

const database = testDatabase();

test("the records of cleanups do not count to the limits of a history", async () => {
  const done: number[] = [];
  const { world, run } = await cancelled(database, async ({ step }) => {
    for (let n = 0; n < 9_998; n += 1) await step.sleep("nothing", 0);
    try {
      await step.sleep("nap", "1 day");
    } finally {
      await step.cleanup("release", ({ step }) =>
        Promise.all([1, 2, 3, 4, 5].map((n) => step.run("unlock", () => done.push(n)))),
      );
    }
  });
  expect(await world.run(run)).toMatchObject({
    status: "cancelled",
    error: { name: "CancelledError" },
    records: 10_004,
  });
  expect(done.toSorted()).toEqual([1, 2, 3, 4, 5]);
});
