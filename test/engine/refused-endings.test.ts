/** A run that is about to write down how it ends, and is cancelled before that. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type Played, play } from "./playing.ts";

const database = testDatabase();

/** A run whose last step is cancelled from elsewhere while it is at work, and then fails for good. */
function playCancelled(compensate: () => unknown): Promise<Played> {
  return play(database, async ({ step, run }, world) => {
    await step.run("a", () => 1, {
      compensate: { run: compensate, retry: { maxAttempts: 3, delay: "1 minute", jitter: false } },
    });
    await step.run(
      "b",
      async () => {
        await database.pool.query("select layover.cancel_run($1)", [
          JSON.stringify({ namespace: world.namespace, runId: run.runId }),
        ]);
        throw new Error("no");
      },
      { retry: { maxAttempts: 1 } },
    );
  });
}

test("a run that was cancelled as its last step failed is undone by what its history says", async () => {
  let tries = 0;
  const { world, run, view } = await playCancelled(() => {
    tries += 1;
    if (tries === 1) throw new Error("later");
  });
  expect(view).toMatchObject({ status: "cancelled", blocked: undefined });
  const { records } = await world.history(run);
  expect(records.map(({ kind }) => kind)).toEqual(["step", "step", "closing", "ending", "step"]);
  expect(tries).toBe(2);
});
