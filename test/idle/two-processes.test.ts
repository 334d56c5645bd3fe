/** Thousands of runs that sleep, in two processes of Node's that arm at each other: an hour of that, in seconds. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { sleepers } from "../size.ts";
import { workflows } from "./workflows.ts";

const database = testDatabase();
const hourMs = 3_600_000;
const pingMs = 20_000;

let beganAt: number;
/** Statements and requests that have no answer yet. */
let underWay = 0;
let statements: string[];
let requests: string[];
const reported: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  beganAt = Date.now() - performance.now();
  [statements, requests] = [[], []];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...call: Parameters<typeof globalThis.fetch>) => {
    requests.push(String(call[0]));
    return counted(fetch(...call));
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function counted<Answer>(work: Promise<Answer>): Promise<Answer> {
  underWay += 1;
  try {
    return await work;
  } finally {
    underWay -= 1;
  }
}

const query: Query = Object.assign(
  (...call: Parameters<Query>) => {
    statements.push(call[0]);
    return counted(database.query(...call));
  },
  { endpoint: "db/main" },
);

/** Waits until nothing is under way but what waits for time to pass. */
async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 20; quiet = underWay === 0 ? quiet + 1 : 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test(`two processes with ${sleepers} sleepers send no statement in an idle hour, and look after each other`, {
  timeout: 180_000,
}, async () => {
  const clock = await database.turnClock();
  const pass = async (ms: number, stepMs: number) => {
    for (const end = performance.now() + ms; performance.now() < end; ) {
      await clock.set(Math.round(beganAt + performance.now() + stepMs));
      await vi.advanceTimersByTimeAsync(stepMs);
      await settle();
    }
  };
  await clock.set(Math.round(beganAt + performance.now()));
  const wakesAt = Math.round(beganAt) + 3 * hourMs;
  const run = JSON.stringify({ workflow: "sleeper", version: 1, input: { wakesAt } });
  await database.pool.query("select layover.start_run($1) from generate_series(1, $2)", [run, sleepers]);
  for (let number = 0; number < 2; number += 1) {
    const server = await serve({
      ...{ workflows, database: query, port: 0, hostname: "127.0.0.1", processes: { door: "auto" } },
      secrets: ["bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g"],
      onError: (error) => reported.push(error),
    });
    onTestFinished(() => server.close({ grace: 1 }));
    await settle();
  }

  await pass(300_000, 1_000); // what turns lean on has rung by then, and found nothing
  const { rows } = await database.pool.query(
    "select status, handed_position is not null as has_begun, count(*)::int from layover.run_state group by 1, 2",
  );
  expect(rows).toEqual([{ status: "parked", has_begun: true, count: sleepers }]);

  [statements, requests] = [[], []];
  await pass(hourMs, pingMs);
  expect(statements).toEqual([]);
  expect(requests).toHaveLength((2 * hourMs) / pingMs);
  expect(reported).toEqual([]);
});
