/** A machine that was suspended: its time of day has gone on, and the clock of its timers has stood still. */
import type { Query } from "layover";
import { workflow } from "layover";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess } from "../../src/platform/node/in-process/options.ts";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase({ isOwn: true });
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const nap = workflow({ name: "nap", version: 1, output: z.string() });
const napWorkflow = nap.handler(async ({ step }) => {
  await step.sleep("nap", hourMs);
  return "rested";
});

let clock: Clock;
let process: InProcess;
let statements: string[];

beforeEach(async () => {
  clock = await database.turnClock();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date", "performance"], now: await clock.now() });
  statements = [];
  const query = async (...call: Parameters<Query>) => {
    statements.push(call[0]);
    return await database.query(...call);
  };
  const counted = Object.assign(query, { endpoint: database.query.endpoint });
  process = await startInProcess({ workflows: [napWorkflow], database: counted });
  await process.client.wake(); // its first tick is over before this one, so nothing of its beginning is sent later
});
afterEach(async () => {
  await process.close();
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await vi.advanceTimersByTimeAsync(ms);
}

/** Sets the time of day ahead of the clock of the timers. */
function setAhead(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Resolves when the run is stored so. The process is not asked: it would learn the time by that. */
async function isStored(status: string): Promise<void> {
  const text = "select 1 from layover.run_state where status = $1";
  for (let tries = 0; (await database.query(text, [status])).length === 0; tries += 1)
    if (tries === 1_000) throw new Error(`the run is not ${status}`);
  await process.dispatch.idle();
}

function isTick(text: string): boolean {
  return text.includes("layover.list_due");
}

async function begin(): Promise<void> {
  await process.client.start(nap);
  await process.dispatch.idle();
  await isStored("parked");
}

test("what was due while the machine was suspended goes on within half a minute", async () => {
  await begin();
  await clock.advance(16 * hourMs);
  setAhead(16 * hourMs);
  await pass(30_000);
  await isStored("completed");
});

test("suspensions of some seconds count together", async () => {
  await begin();
  await clock.advance(hourMs);
  for (let count = 0; count < 3; count += 1) {
    setAhead(2_000);
    await pass(minuteMs);
  }
  await isStored("completed");
});

test("nothing is sent while the clocks agree, and one tick follows when the time of day is set ahead", async () => {
  await begin();
  statements.length = 0;
  await pass(10 * minuteMs);
  setAhead(-hourMs);
  await pass(10 * minuteMs);
  expect(statements).toEqual([]);
  const ticks = vi.spyOn(process.engine, "tick");
  setAhead(hourMs);
  await pass(20_000); // It looks at the end of that: before, the database's clock would be ahead, as if it had been set.
  expect(ticks).toHaveBeenCalledTimes(1);
  await ticks.mock.results[0]?.value; // The clock must not overtake a call of it: that would lead to another tick.
  await pass(10 * minuteMs);
  expect(statements.filter(isTick)).toHaveLength(1);
});
