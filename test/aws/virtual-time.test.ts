/** Thousands of runs that sleep until one instant, on AWS: hours of that, in seconds. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { Chance } from "../engine/chance.ts";
import { workflows } from "../idle/workflows.ts";
import { testDatabase } from "../postgres/database.ts";
import { isWhole, sleepers } from "../size.ts";
import { PlayedAws } from "./played-aws.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** What turns lean on has rung by then, and found nothing; and what Lambda tried again after its pauses has ended. */
const afterwardsMs = 40 * minuteMs;

function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length * part) - 1];
}

describe.each([1_000, 10])("with a concurrency of %i", (concurrency) => {
  const database = testDatabase();

  /** Nobody is told: the first tick of a deployment looks at all that is ready. */
  async function start(count: number, wakesAt: number): Promise<void> {
    const run = JSON.stringify({ workflow: "sleeper", version: 1, input: { wakesAt } });
    await database.pool.query("select layover.start_run($1) from generate_series(1, $2)", [run, count]);
  }

  async function statuses(): Promise<unknown> {
    const { rows } = await database.pool.query("select status, count(*)::int from layover.run_state group by status");
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  test(`${sleepers} runs sleep for nothing, and wake in time`, { timeout: 240_000 }, async () => {
    const clock = await database.turnClock();
    const chance = new Chance(1, 1);
    const awake: { readonly runId: string; readonly at: number }[] = [];
    const reported: unknown[] = [];
    const played = new PlayedAws({
      workflows,
      query: database.query,
      clock,
      concurrency,
      lateness: () => chance.below(59_000),
      onLog: ({ runId }) => awake.push({ runId, at: played.now() }),
      onError: (error) => reported.push(error),
    });
    const beganAt = played.now();
    await clock.set(beganAt);
    const dueAt = Math.floor(beganAt / minuteMs) * minuteMs + 2 * hourMs + 17_000;
    await start(sleepers, dueAt);
    played.deployed();

    await played.passUntil(beganAt + afterwardsMs);
    expect(await statuses()).toEqual({ parked: sleepers });
    console.log(`begun, with a concurrency of ${concurrency}:`, toldOf(played.takeTally()));

    await played.passUntil(beganAt + hourMs + 40 * minuteMs);
    const { statements, invocations, schedules, messages } = played.takeTally();
    expect({ statements, invocations, schedules, messages }).toEqual({
      statements: [],
      invocations: { turns: 0, tick: 0, forward: 0 },
      schedules: 0,
      messages: 0,
    });

    await played.passUntil(dueAt + afterwardsMs);
    expect(await statuses()).toEqual({ completed: sleepers });
    const lateness = awake.map(({ at }) => at - dueAt);
    const tally = played.takeTally();
    console.log(`due at one instant, with a concurrency of ${concurrency}:`, toldOf(tally), {
      "ms to the first body": Math.min(...lateness),
      p50: percentile(lateness, 0.5),
      p99: percentile(lateness, 0.99),
      "the last": Math.max(...lateness),
    });
    expect(new Set(awake.map(({ runId }) => runId)).size).toBe(sleepers);
    expect([...played.errors, ...reported]).toEqual([]);

    await played.passUntil(played.now() + hourMs);
    expect(played.takeTally().statements).toEqual([]);
  });
});

describe("with a concurrency of 10, and bodies that take 8 s", () => {
  const database = testDatabase();
  /** The last of them wait for the others for minutes. */
  const count = isWhole ? 4_000 : 1_500;

  test("what waits for its turn is not asked for again and again", { timeout: 240_000 }, async () => {
    const clock = await database.turnClock();
    const reported: unknown[] = [];
    let bodies = 0;
    const slow = workflow({ name: "sleeper", version: 1, input: z.object({ wakesAt: z.number() }) });
    const played: PlayedAws = new PlayedAws({
      workflows: [
        slow.handler(async ({ step, input }) => {
          await step.sleepUntil("nap", new Date(input.wakesAt));
          await step.run("work", async () => {
            bodies += 1;
            await played.pause(8_000);
          });
        }),
      ],
      query: database.query,
      clock,
      concurrency: 10,
      lateness: () => 0,
      onError: (error) => reported.push(error),
    });
    await clock.set(played.now());
    const dueAt = Math.floor(played.now() / minuteMs) * minuteMs + hourMs;
    const run = JSON.stringify({ workflow: "sleeper", version: 1, input: { wakesAt: dueAt } });
    await database.pool.query("select layover.start_run($1) from generate_series(1, $2)", [run, count]);
    played.deployed();
    await played.passUntil(dueAt - 5 * minuteMs);
    played.takeTally();

    await played.passUntil(dueAt + hourMs);
    const { rows } = await database.pool.query(
      "select max(ended_at) as last from layover.run_state where status = 'completed'",
    );
    const tally = played.takeTally();
    console.log("due at one instant, with slow bodies:", toldOf(tally), { "the last": Number(rows[0]?.last) - dueAt });
    expect(bodies).toBe(count);
    expect([...played.errors, ...reported]).toEqual([]);
    expect(tally.turns).toBeLessThanOrEqual(3 * count);
  });
});

function toldOf({
  counts,
  invocations,
  turns,
  schedules,
  messages,
  coldStarts,
  throttled,
  dropped,
}: ReturnType<PlayedAws["takeTally"]>) {
  return { counts, invocations, turns, schedules, messages, coldStarts, throttled, dropped };
}
