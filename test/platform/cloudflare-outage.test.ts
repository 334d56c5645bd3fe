/**
 * The queue refuses dispatches for hours, or whatever stands before a Worker that asks itself does. Runs that wait go
 * on with the first tick after that. It comes within two minutes, however long dispatches were refused.
 */
import { Response } from "miniflare";
import { beforeEach, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import type { AWorker, WorkerOptions } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage, completed, linksBy, unalignedMs } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const hour = 3_600_000;
/** Milliseconds between the ticks that the test watches. The scheduler may have had more ticks. */
const refusedFor = [unalignedMs, unalignedMs, hour, 6 * hour];

let queue: PlayedQueue;
let isRefusing: boolean;
beforeEach(async () => {
  queue = await PlayedQueue.open();
  isRefusing = false;
});

const byQueue = (): Partial<WorkerOptions> => ({ env: { QUEUE_URL: queue.url } });
/** Options of a Worker whose requests to itself go through something that may refuse them. */
const byItself = (): Partial<WorkerOptions> => ({
  async outboundService({ url, method, headers, body: sent }) {
    if (isRefusing && url.endsWith("/internal/turns")) return new Response("no", { status: 503 });
    const body = sent === null ? null : await new Response(sent).text();
    const answer = await fetch(url, { method, headers: Object.fromEntries(headers), body });
    return new Response(answer.status === 204 ? null : await answer.text(), { status: answer.status });
  },
});

/** Begins a Worker. Its `pass` lets time pass, and resolves when every tick of that time has ended. */
async function begin(options: Partial<WorkerOptions>) {
  const clock = await database.turnClock();
  const worker = await stage.begin({ self: null, ...options }, { tellsEach: true });
  let aheadMs = 0;
  const over = async () => (await worker.minutes()).reduce((sum, [, over]) => sum + over, 0);
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    aheadMs += ms;
    if (options.bound?.alarm === undefined) expect(await worker.ring()).toBe("ok");
    else {
      await worker.turn(aheadMs);
      await expect.poll(over).toBe(0);
    }
  };
  const refuse = (refuses: boolean) => {
    isRefusing = refuses;
    queue.isRefusing = refuses;
  };
  return { worker, pass, refuse };
}

async function outlasts(worker: AWorker, pass: (ms: number) => Promise<void>, refuse: (refuses: boolean) => void) {
  // A deployment's first tick counts from the beginning by itself.
  await worker.start("sleepy", 1_000 * hour);
  await pass(unalignedMs);
  while (queue.waiting.length > 0) await queue.deliver(worker);
  expect(await worker.ring()).toBe("ok");
  worker.logged.length = 0;
  refuse(true);
  const runId = await worker.start("chain", { world: stage.world.url, steps: 3 });
  const refusals = () => worker.logged.filter((line) => line.includes("dispatching")).length;
  await expect.poll(refusals).toBe(1);
  for (const ms of refusedFor) {
    const before = refusals();
    await pass(ms);
    expect(refusals()).toBeGreaterThan(before);
  }
  expect(await worker.run(runId)).toMatchObject({ status: "queued" });
  refuse(false);
  return runId;
}

test.each([
  ["with an alarm", { alarm: {} }, unalignedMs],
  ["with the cron trigger alone", {}, 60_000],
])("a queue that refused for hours is asked again within two minutes, %s", async (_, bound, withinMs) => {
  const { worker, pass, refuse } = await begin({ ...byQueue(), bound });
  const runId = await outlasts(worker, pass, refuse);
  await pass(withinMs);
  await queue.drain(worker);
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
});

test.each([
  ["with an alarm", { alarm: {} }, unalignedMs],
  ["with the cron trigger alone", {}, 60_000],
])("a Worker that could not ask itself for hours does so within two minutes, %s", async (_, bound, withinMs) => {
  const { worker, pass, refuse } = await begin({ ...byItself(), bound });
  const runId = await outlasts(worker, pass, refuse);
  await pass(withinMs);
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
});
