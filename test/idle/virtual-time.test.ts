/** Thousands of runs that sleep until one instant, and a thousand that wait for signals: hours of that, in seconds. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { sleepers } from "../size.ts";
import { PlayedCloudflare } from "./played-cloudflare.ts";
import { workflows } from "./workflows.ts";

const database = testDatabase();
const listeners = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** What turns lean on has rung by then, and found nothing. */
const afterwardsMs = 5 * minuteMs;
/** Runs of a page of list_due and move_due, and messages of a delivery. */
const page = 500;
const batch = 10;
/** An hour of cron triggers, each of which asks the Durable Object. */
const silence = { statements: [], messages: 0, deliveries: 0, cronRings: 60, asked: 60, writes: 0, ringsAt: [] };

/** When bodies began after a sleep, by the played clock and by this machine's. */
const awake: { readonly runId: string; readonly at: number; readonly realAt: number }[] = [];
const reported: unknown[] = [];

/** Nobody is told: the first tick of a deployment looks at all that is ready. */
async function start(count: number, workflow: string, input: object): Promise<void> {
  const run = JSON.stringify({ workflow, version: 1, input });
  await database.pool.query("select layover.start_run($1) from generate_series(1, $2)", [run, count]);
}

async function statuses(): Promise<unknown> {
  const { rows } = await database.pool.query("select status, count(*)::int from layover.run_state group by status");
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test("runs that wait send no statement, and those that are due at one instant wake in batches", async () => {
  const clock = await database.turnClock();
  const played = new PlayedCloudflare({
    workflows,
    query: database.query,
    clock,
    onLog: ({ runId }) => awake.push({ runId, at: played.now(), realAt: performance.now() }),
    onError: (error) => reported.push(error),
  });
  const beganAt = played.now();
  await clock.set(beganAt);
  const dueAt = Math.floor(beganAt / minuteMs) * minuteMs + 2 * hourMs;
  await start(sleepers, "sleeper", { wakesAt: dueAt });
  await start(listeners, "listener", {});

  await played.passUntil(beganAt + afterwardsMs);
  expect(await statuses()).toEqual({ parked: sleepers + listeners });
  const deliveries = (sleepers + listeners) / batch;
  expect(played.takeTally()).toMatchObject({
    deliveries,
    counts: { claim_turns: deliveries, finish_turns: deliveries },
  });

  await played.passUntil(played.now() + hourMs);
  expect(played.takeTally()).toEqual(silence);

  await played.passUntil(dueAt);
  const rungAt = performance.now();
  await played.passUntil(dueAt + afterwardsMs);
  expect(await statuses()).toEqual({ completed: sleepers, parked: listeners });
  expect(awake).toHaveLength(sleepers);
  expect(new Set(awake.map(({ runId }) => runId)).size).toBe(sleepers);
  const tally = played.takeTally();
  const [ringsAt = Number.NaN] = tally.ringsAt;
  const lateness = awake.map(({ at }) => at - ringsAt);
  expect(ringsAt - dueAt).toBeLessThanOrEqual(2_000);
  expect(Math.min(...lateness)).toBeLessThanOrEqual(1_000);
  // A ring looks once more than it finds pages, and one more ring looks whether those that it has dispatched are over.
  const pages = sleepers / page;
  expect(tally.ringsAt).toHaveLength(2);
  expect(tally.deliveries).toBe(sleepers / batch);
  expect(tally.counts).toEqual({
    list_due: pages + 2,
    move_due: pages,
    prune_runs: 2,
    note_deployment: 1, // at most once an hour
    claim_turns: sleepers / batch,
    finish_turns: sleepers / batch,
  });
  const realLateness = awake.map(({ realAt }) => Math.round(realAt - rungAt));
  console.log(`of ${sleepers} runs due at one instant:`, {
    statements: tally.statements.length,
    deliveries: tally.deliveries,
    "rows that the Durable Object wrote": tally.writes,
    "ms to the first and the last body": [Math.min(...lateness), Math.max(...lateness)],
    "... of this machine's clock": [Math.min(...realLateness), Math.max(...realLateness)],
  });

  await played.passUntil(played.now() + hourMs);
  expect(played.takeTally()).toEqual(silence);
  expect([...played.errors, ...reported]).toEqual([]);
});
