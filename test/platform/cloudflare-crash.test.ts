import { beforeEach, expect, test } from "vitest";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { answered, type Fate } from "../postgres/neon-endpoint.ts";
import type { AWorker } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage, completed, linksBy, unalignedMs } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
let clock: Clock;
let queue: PlayedQueue;
let aheadMs: number;
beforeEach(async () => {
  clock = await database.turnClock();
  queue = await PlayedQueue.open();
  aheadMs = 0;
});

async function pass(worker: AWorker, ms: number): Promise<void> {
  await clock.advance(ms);
  aheadMs += ms;
  await worker.turn(aheadMs);
}

test("a run whose machine is lost amid a step goes on, though the queue lost its messages, too", async () => {
  const worker = await stage.begin({ self: null, bound: { queue: {}, alarm: {} } });
  const held = stage.world.hold("link-2");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 30 });
  await held.arrived;
  worker.kill();
  await worker.restart();
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 1 });
  await pass(worker, unalignedMs);
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 30)));
  expect(stage.world.asked.filter((path) => path === "link-2")).toHaveLength(2);
  expect(stage.world.asked).toHaveLength(31);
});

test("a machine that is lost after a record's commit repeats no step", async () => {
  const worker = await stage.begin({ self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 3 });
  await expect.poll(() => queue.waiting).toHaveLength(1);
  const asked = stage.world.asked.length;
  const committed: Fate = async ({ carryOut }) => {
    await carryOut();
    worker.kill();
  };
  stage.endpoint.next(answered, committed);
  await queue.deliver(worker);
  await worker.restart();
  await queue.drain(worker); // its lease stands, so the message that came again is acknowledged
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 1 });
  await pass(worker, unalignedMs);
  await queue.drain(worker);
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
  expect(stage.world.asked.slice(asked)).toEqual(["link-1", "link-2", "link-3"]);
  expect([queue.mostAttempts, queue.dead]).toEqual([2, []]);
});

test("a turn that kills whoever carries it out fails after five tries, and costs its neighbours none of theirs", async () => {
  const worker = await stage.begin({ self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } });
  const neighbours: string[] = [];
  const start = async () => neighbours.push(await worker.start("chain", { world: stage.world.url, steps: 2 }));
  await start();
  const deadly = await worker.start("deadly", { world: stage.world.url });
  await start();
  await expect.poll(() => queue.waiting).toHaveLength(3);
  let deaths = 0;
  for (; deaths < 13; deaths += 1) {
    const sting = stage.world.hold("sting");
    const delivered = queue.drain(worker);
    const end = await Promise.race([sting.arrived.then(() => "killed" as const), delivered]);
    if (end !== "killed") break;
    worker.kill();
    // Its queue delivers again, also before there is anybody to take it.
    await worker.restart();
    await delivered;
    await start(); // somebody new is beside it each time
    await pass(worker, unalignedMs);
    await expect.poll(() => queue.waiting.length).toBeGreaterThan(1);
  }
  expect(deaths).toBe(9); // four times among others, five times alone
  expect(await worker.run(deadly)).toMatchObject({ status: "failed" });
  for (const runId of neighbours) expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 2)));
  expect([queue.mostAttempts, queue.dead]).toEqual([2, []]);
});
