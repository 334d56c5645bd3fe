/** What a step costs by each way from one turn to the next: counted exactly, and timed for whoever reads the output. */
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import type { AWorker, Bound, Settings } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage } from "./worker-stage.ts";

const database = testDatabase({ perTest: true });
const stage = aStage(database);
const steps = 20;
/** As far as requests to oneself reach where each carries out one step. */
const timedSteps = 10;
const oneStep: Settings = { invocation: { maxSteps: 1 } };
const withQueue: Bound = { queue: {}, alarm: {} };
const Ended = z.object({ status: z.literal("completed"), createdAt: z.coerce.date(), endedAt: z.coerce.date() });

/** How long a run of so many steps takes, in ms a step; a warm isolate's. */
async function msOf(worker: AWorker): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const runId = await worker.start("chain", { world: stage.world.url, steps: timedSteps });
    const run = async () => await worker.run(runId);
    await expect.poll(run, { timeout: 15_000, interval: 20 }).toMatchObject({ status: "completed" });
    const { createdAt, endedAt } = Ended.parse(await run());
    times.push((endedAt.getTime() - createdAt.getTime()) / timedSteps);
    stage.statements();
  }
  return Math.min(...times.slice(1));
}

/** The statements of a run and the messages that carry it, where a test delivers them. */
async function countsOf(settings: Settings): Promise<{ statements: number; messages: number }> {
  const queue = await PlayedQueue.open();
  const worker = await stage.begin({ self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } }, settings);
  await worker.start("chain", { world: stage.world.url, steps: 1 });
  await queue.drain(worker);
  stage.statements();
  const { sent } = queue;
  await worker.start("chain", { world: stage.world.url, steps });
  await queue.drain(worker);
  const statements = stage.statements().filter((name) => /^(claim|finish)_turns$/.test(name)).length;
  return { statements, messages: queue.sent - sent };
}

test("a step is two statements and a message, or one statement where a delivery carries out several", async () => {
  expect(await countsOf(oneStep)).toEqual({ statements: 2 * steps, messages: steps });
  expect(await countsOf({})).toEqual({ statements: steps + 2, messages: 1 });
});

test("how long a step takes by each way is printed", { timeout: 90_000 }, async () => {
  const ms = {
    "a message a step": await msOf(await stage.begin({ self: null, bound: withQueue }, oneStep)),
    "a request to itself a step": await msOf(await stage.begin({}, oneStep)),
    "ten steps a request to itself": await msOf(await stage.begin({})),
    "ten steps a message": await msOf(await stage.begin({ self: null, bound: withQueue })),
  };
  console.log(`ms a step, of ${timedSteps} in a row:`, ms);
  for (const each of Object.values(ms)) expect(each).toBeGreaterThan(0);
});
