/** Which runs a prune finds when the database's clock was set back. */
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
