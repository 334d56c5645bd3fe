/** Steps that are at work when their run continues as new belong to the history that ends: their results count no more. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const second = 1_000;
const minute = 60 * second;
const leaseMs = 30 * second;
const counting = workflow({ name: "counting", version: 1, input: z.object({ lap: z.number() }), output: z.string() });

/** Notes of the bodies of the first lap: when each began, was aborted and ended. */
type Told = [what: string, time: number, reason?: unknown];

test.each([0, 10])(
  "a body at work is told by the next renewal, and its late result stands in no history (%i runs stay in memory)",
  async (warmRuns) => {
    const told: Told[] = [];
    const continuing = counting.handler(async ({ input, step }) => {
      if (input.lap === 1) {
        await step.race("both", [
          ({ step }) =>
            step.run(
              "long",
              async ({ abortSignal }) => {
                told.push(["begins", world.time]);
                abortSignal.addEventListener("abort", () => told.push(["aborted", world.time, abortSignal.reason]));
                await world.foreign("10 minutes");
                told.push(["ends", world.time]);
                return "late";
              },
              { timeout: "20 minutes" },
            ),
          async ({ step }) => {
            await step.sleep("short", "1 minute");
            return await step.continueAsNew({ lap: 2 });
          },
        ]);
      }
      const early = await step.run("early", () => "early");
      await step.sleep("nap", "1 hour");
      return `${early} in lap ${input.lap}`;
    });
    const world = await World.begin(database, { workflows: [continuing], leaseMs, warmRuns });
    const run = await world.start(counting, { lap: 1 });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "early in lap 2", epoch: 1 });

    const [began, aborted, ended, ...more] = told;
    expect([began, ended, more]).toEqual([["begins", 0], ["ends", 10 * minute], []]);
    expect(aborted).toMatchObject(["aborted", expect.any(Number), { message: "the lease of this step is lost" }]);
    expect(aborted?.[1]).toBeGreaterThanOrEqual(minute);
    expect(aborted?.[1]).toBeLessThanOrEqual(minute + leaseMs);
    expect(world.time).toBe(61 * minute);
    const { rows } = await database.pool.query(
      "select epoch || ' ' || path as place from layover.record where run_id = $1 order by epoch, position",
      [run.runId],
    );
    expect(rows.map(({ place }) => place)).toEqual(["0 both[1]/short", "1 early", "1 nap"]);
    expect((await world.history(run)).pending).toEqual([]);
  },
);
