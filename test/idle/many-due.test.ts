/** Thousands of runs due at one instant on the real workerd: what they take is counted, and how long is printed. */
import { expect, test } from "vitest";
import { aStage } from "../platform/worker-stage.ts";
import { testDatabase } from "../postgres/database.ts";
import { answered, type Fate } from "../postgres/neon-endpoint.ts";
import { sleepers as runs } from "../size.ts";

const database = testDatabase();
const stage = aStage(database);
/** How many runs list_due and move_due take at most. */
const page = 500;
/** How many turns a delivery has at most. */
const batch = 10;
const hourMs = 3_600_000;
/** Longest time from an instant until its minute rings, in milliseconds. */
const ringsWithinMs = 62_000;

async function over(): Promise<unknown> {
  const { rows } = await database.pool.query(
    "select count(*)::integer as runs from layover.run_state where status = 'completed'",
  );
  return rows[0]?.runs;
}

test(`${runs} runs due at one instant are claimed in batches`, async () => {
  const clock = await database.turnClock();
  await clock.goOn(); // a clock that stands looks set back to a Worker whose own clock goes on
  const worker = await stage.begin({ self: null, bound: { queue: {}, alarm: {} } });
  await worker.start("still");
  await expect.poll(over).toBe(1);
  expect(await worker.ring()).toBe("ok"); // the first tick of the deployment
  const startAt = (await clock.now()) + hourMs;
  await worker.start("still", undefined, { startAt: new Date(startAt) }); // arms the minute of all of them
  const run = JSON.stringify({ workflow: "still", version: 1, startAt });
  await database.pool.query("select layover.start_run($1) from generate_series(2, $2)", [run, runs]);
  stage.statements();

  const arrivals: number[] = [];
  const noted: Fate = async (exchange) => {
    arrivals.push(performance.now());
    await answered(exchange);
  };
  stage.endpoint.next(...Array.from({ length: runs }, () => noted));
  await clock.advance(hourMs + ringsWithinMs);
  const rungAt = performance.now();
  await worker.turn(hourMs + ringsWithinMs);
  await expect.poll(over, { timeout: 60_000 }).toBe(runs + 1);

  const statements = stage.statements();
  const counts = new Map([...Map.groupBy(statements, (name) => name)].map(([name, calls]) => [name, calls.length]));
  expect(counts.get("move_due")).toBe(runs / page);
  // The clock's turn passes the minute of the first run's start too.
  // Where that rings by itself, its tick finds no run due.
  expect([0, 1]).toContain((counts.get("list_due") ?? 0) - runs / page - 1);
  // A delivery is one claim. Where one goes off before more is there, as on a busy machine, it has fewer than ten.
  for (const name of ["claim_turns", "finish_turns"]) {
    expect(counts.get(name)).toBeGreaterThanOrEqual(runs / batch);
    expect(counts.get(name)).toBeLessThanOrEqual((runs / batch) * 2);
  }
  const secondsTo = (arrival: number | undefined = Number.NaN) => ((arrival - rungAt) / 1_000).toFixed(2);
  console.log(`of ${runs} runs due at one instant, on workerd:`, {
    statements: statements.length,
    deliveries: counts.get("claim_turns"),
    "s from the ring to the first claim": secondsTo(arrivals[statements.indexOf("claim_turns")]),
    "... to the last finish": secondsTo(arrivals[statements.lastIndexOf("finish_turns")]),
  });
  expect(worker.logged).toEqual([]);
});
