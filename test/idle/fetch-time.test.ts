/** Thousands of runs that wait on the fetch face, which its alarm alone wakes: hours of that, in seconds. */
import { expect, test } from "vitest";
import { PlayedFetch } from "../platform/played-fetch.ts";
import { testDatabase } from "../postgres/database.ts";
import { sleepers } from "../size.ts";
import { workflows } from "./workflows.ts";

const database = testDatabase();
const listeners = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A tick that the last ring of a minute has begun is over by then, and what it leaned on has rung. */
const afterwardsMs = 10 * minuteMs;
const silence = { statements: [], armed: 0, rings: 0 };

async function statuses(): Promise<unknown> {
  const { rows } = await database.pool.query("select status, count(*)::int from layover.run_state group by status");
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test("runs that wait on the fetch face send no statement, and the alarm wakes all that are due at one instant", async () => {
  const clock = await database.turnClock();
  const awakeAt: number[] = [];
  const played: PlayedFetch = new PlayedFetch({
    workflows,
    query: database.query,
    clock,
    onLog: () => void awakeAt.push(played.time.now()),
  });
  await clock.set(played.time.now());
  const dueAt = Math.ceil(played.time.now() / minuteMs) * minuteMs + 2 * hourMs;
  // Those that a request starts are armed. The tick of their first motion minute looks at all that are ready.
  await played.startBare(sleepers - 1, { workflow: "sleeper", version: 1, input: { wakesAt: dueAt } });
  await played.startBare(listeners, { workflow: "listener", version: 1, input: {} });
  await played.start("sleeper", { wakesAt: dueAt });
  await played.pass(afterwardsMs);
  expect(await statuses()).toEqual({ parked: sleepers + listeners });
  played.take();

  await played.pass(hourMs);
  expect(played.take()).toEqual(silence);

  await played.time.passUntil(dueAt + afterwardsMs);
  expect(await statuses()).toEqual({ completed: sleepers, parked: listeners });
  expect(awakeAt).toHaveLength(sleepers);
  expect(Math.min(...awakeAt)).toBeGreaterThanOrEqual(dueAt);
  expect(Math.max(...awakeAt) - dueAt).toBeLessThanOrEqual(2 * minuteMs);
  console.log(`of ${sleepers} runs due at one instant:`, {
    statements: played.take().statements.length,
    "s to the first and the last body": [Math.min(...awakeAt), Math.max(...awakeAt)].map((at) => (at - dueAt) / 1_000),
  });

  await played.pass(hourMs);
  expect(played.take()).toEqual(silence);
});
