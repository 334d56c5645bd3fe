/** What a prune finds: runs when the database's clock was set back, and deliveries in great number. */
import { expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { aClient, carryOut } from "../client/a-client.ts";
import { turnableClock } from "./clock.ts";
import { testDatabase } from "./database.ts";

const hour = 3_600_000;
const nap = workflow({ name: "nap", version: 1 });

const database = testDatabase({ isOwn: true });

test("a run that ended before the walk's place, after the clock was set back, is deleted when its time has come", async () => {
  const clock = await turnableClock(database.query);
  const { client, calls } = aClient(database.query);
  const ended = async () => {
    const { runId } = await client.start(nap);
    await carryOut(calls, { runId, workflow: "nap" }, { completed: 1 });
    return runId;
  };
  const prune = async () => (await calls.pruneRuns({ keepMs: hour, keepFailedMs: hour, limit: 10 })).pruned;

  await ended();
  await clock.advance(5 * hour);
  expect(await prune()).toBe(1); // here the walk has begun
  await clock.advance(3 * hour);
  await ended();
  await clock.advance(2 * hour);
  expect(await prune()).toBe(1); // its place is the end of that run

  await clock.advance(-4 * hour); // after the walk has begun, and before its place
  const early = await ended();
  expect(await prune()).toBe(0);
  await clock.advance(1.5 * hour);
  expect(await prune()).toBe(1);
  await expect(client.get(early)).rejects.toMatchObject({ code: "unknown_run" });
  expect(await prune()).toBe(0);
});

test.each([
  ["whose events have been kept for a week", 8],
  ["of a month ago", 31],
])("more deliveries %s than one call prunes are pruned by the calls that follow", async (_, days) => {
  const { calls } = aClient(database.query);
  const clock = await turnableClock(database.query);
  await database.query(
    `insert into layover.delivery (namespace, webhook, id, outcome, deeds, headers, event, attempts, received_at, decided_at)
     select 'test', 'shop', $1 || ' days ' || n, 'done', '[]', '{}', '{}', 1, layover.now(), layover.now() from generate_series(1, 25) as n`,
    [String(days)],
  );
  await clock.advance(days * 24 * hour);
  const answers = [];
  for (let call = 0; call < 3; call += 1)
    answers.push(await calls.pruneRuns({ keepMs: hour, keepFailedMs: hour, limit: 10 }));
  expect(answers.map(({ isMore }) => isMore)).toEqual([true, true, false]);
  const rows = await database.query("select from layover.delivery where id like $1 and event is not null", [
    `${days} days%`,
  ]);
  expect(rows).toHaveLength(0);
});
