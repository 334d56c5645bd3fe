/** A run that continues as new for ever: each lap costs what the one before did, and leaves no more behind. */
import { RetryAfterError, workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const last = 60;
const tables = ["record", "attempt", "callback", "patch", "epoch", "signal", "pending"];
/** Calls that ticks make once an hour, whatever a run does. */
const hourly = ["note_deployment", "note_process", "prune_runs"];
const looping = workflow({
  name: "looping",
  version: 1,
  input: z.object({ lap: z.number() }),
  output: z.number(),
  signals: { item: z.string() },
  callbacks: { approval: z.unknown() },
});

test.each([0, 10])(
  "a late lap needs no more calls than an early one, and leaves no more rows (%i runs stay in memory)",
  async (warmRuns) => {
    const calls = Array.from({ length: last + 1 }, (): string[] => []);
    const rows = new Map<number, unknown>();
    let lap = 0;
    const counts = tables.map(
      (table) => `(select count(*)::integer from layover.${table} where run_id = $1) as ${table}`,
    );
    const handler = looping.handler(async ({ input, step }) => {
      await step.run("begin", () => {
        lap = input.lap;
      });
      if (step.patched("new"))
        await step.run("flaky", ({ attempt }) => {
          if (attempt === 1) throw new RetryAfterError("not yet", "1 minute");
        });
      await step.map("all", [1, 2, 3], (nr, { step }) => step.run("it", () => nr));
      await step.waitForCallback("approval", () => 1, { timeout: "1 minute", onTimeout: "null" });
      if (input.lap < last) await step.continueAsNew({ lap: input.lap + 1 });
      return input.lap;
    });
    const world = await World.begin(database, { workflows: [handler], warmRuns });
    const runId = world.chance.uuid();
    world.fate = async ({ port, what }): Promise<Fate> => {
      if (port === "query" && !hourly.includes(what)) calls[lap]?.push(what);
      if (!rows.has(lap)) rows.set(lap, (await database.pool.query(`select ${counts.join(", ")}`, [runId])).rows[0]);
      return "passes";
    };
    const run = await world.start(looping, { lap: 1 }, { runId });
    await world.signal(run, looping, "item", "never taken");
    expect(await world.run(run)).toMatchObject({ status: "completed", result: last, epoch: last - 1 });

    const early = calls.slice(3, 11).map((each) => each.toSorted());
    const late = calls.slice(last - 8, last).map((each) => each.toSorted());
    expect(early[0]?.length).toBeGreaterThan(5);
    expect(late).toEqual(early);
    expect(rows.get(10)).toMatchObject({ epoch: 2, patch: 2, callback: 1, signal: 1 });
    expect(rows.get(last)).toEqual(rows.get(10));
  },
);
