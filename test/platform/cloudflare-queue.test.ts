import { beforeEach, expect, test } from "vitest";
import { Chance } from "../engine/chance.ts";
import { testDatabase } from "../postgres/database.ts";
import { asleep, refused } from "../postgres/neon-endpoint.ts";
import type { AWorker } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage, completed, linksBy, unalignedMs } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const denied = refused(400, JSON.stringify({ message: "permission denied", code: "42501", severity: "ERROR" }));
let queue: PlayedQueue;
beforeEach(async () => {
  queue = await PlayedQueue.open();
});

/** Its queue is the test's. */
const aWorker = (): Promise<AWorker> =>
  stage.begin({ self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } });

/** The paths of a run's records. */
async function recordsOf(runId: string): Promise<string[]> {
  const query = "select path from layover.record where run_id = $1 order by path";
  return (await database.pool.query(query, [runId])).rows.map(({ path }) => path);
}

test("a run goes through the queue to its end, twenty steps a delivery and a statement a step", async () => {
  const worker = await stage.begin({ self: null, bound: { queue: {}, alarm: {} } });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 45 });
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 45)));
  const sent = stage.statements();
  expect(sent.filter((name) => name === "finish_turns")).toHaveLength(45);
  expect(sent.filter((name) => name === "claim_turns")).toHaveLength(5);
  expect(worker.logged).toEqual([]);
});

test("steps side by side and what follows them go with the delivery that asked for them, as long as it has room", async () => {
  const worker = await aWorker();
  const runId = await worker.start("fan", { world: stage.world.url, steps: 5 });
  await queue.drain(worker);
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect([queue.sent, queue.deliveries]).toEqual([1, 1]);
  const large = await worker.start("fan", { world: stage.world.url, steps: 30 });
  await queue.drain(worker);
  expect(await worker.run(large)).toMatchObject({ status: "completed" });
  expect(queue.deliveries).toBeLessThan(8);
});

test("a client's answer does not wait for the queue, nor for any step", async () => {
  const worker = await aWorker();
  const runId = await worker.start("chain", { world: stage.world.url });
  await expect.poll(() => queue.waiting).toHaveLength(1);
  expect(queue.waiting[0]?.body).toEqual({ runId, turn: 1 });
  expect(await worker.run(runId)).toMatchObject({ status: "queued" });
});

test.each([1, 2, 3])("messages that come twice, late and in any order do each step once (%i)", async (seed) => {
  const chance = new Chance(seed, 1);
  const worker = await aWorker();
  const before = stage.world.asked.length;
  const chains = await Promise.all([3, 25].map((steps) => worker.start("chain", { world: stage.world.url, steps })));
  const fans = await Promise.all([4, 15].map((steps) => worker.start("fan", { world: stage.world.url, steps })));
  const past: typeof queue.waiting = [];
  await expect.poll(() => queue.waiting.length).toBe(4);
  while (queue.waiting.length > 0) {
    queue.waiting.sort(() => chance.next() - 0.5);
    past.push(...queue.waiting);
    const old = Array.from({ length: 3 }, () => ({ ...chance.pick(past) }));
    queue.waiting.splice(2, 0, ...old);
    await Promise.all([queue.deliver(worker, 7), queue.deliver(worker, 7)]);
  }
  for (const runId of [...chains, ...fans]) expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await recordsOf(chains[1] ?? "")).toHaveLength(25);
  expect(stage.world.asked.length - before).toBe(3 + 25 + 4 + 15);
  expect(queue.dead).toEqual([]);
});

test("what a finish leans on is armed while its turn is being claimed, so that no finish waits for it", async () => {
  const worker = await aWorker();
  await worker.run("01900000-0000-7000-8000-000000000000"); // the isolate knows the time
  expect(await worker.minutes()).toEqual([[0, 0]]);
  const awake = Promise.withResolvers<void>();
  stage.endpoint.next(asleep(awake.promise));
  const delivered = worker.deliver([{ body: { runId: "01900000-0000-7000-8000-000000000000", turn: 1 } }]);
  await expect.poll(() => worker.minutes()).toEqual([[1, 0]]);
  awake.resolve();
  expect(await delivered).toMatchObject({ acked: [0] });
});

test("where the database refuses, the messages are to come again, and then they are carried out", async () => {
  const worker = await aWorker();
  const runIds = [await stage.readyRun(worker), await stage.readyRun(worker)];
  const messages = runIds.map((runId) => ({ body: { runId, turn: 1 } }));
  stage.endpoint.next(denied);
  expect(await worker.deliver(messages)).toMatchObject({
    outcome: "ok",
    acked: [],
    retried: [
      [0, 10],
      [1, 10],
    ],
  });
  expect(await worker.deliver(messages)).toMatchObject({ acked: [0, 1], retried: [] });
  for (const runId of runIds) expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});

test("a run of a version that another deployment carries is left to that for some tries", async () => {
  const worker = await aWorker();
  const [ours, theirs] = [await stage.readyRun(worker), await stage.readyRun(worker)];
  await database.pool.query("update layover.run set version = 2 where id = $1", [theirs]);
  const messages = (attempts: number) => [ours, theirs].map((runId) => ({ body: { runId, turn: 1 }, attempts }));
  expect(await worker.deliver(messages(1))).toMatchObject({ acked: [0], retried: [[1, 10]] });
  expect(await worker.deliver(messages(4))).toMatchObject({ acked: [0], retried: [[1, 80]] });
  expect(await worker.deliver(messages(5))).toMatchObject({ acked: [0, 1], retried: [] });
  expect(worker.logged).toEqual([]);
});

test("of a delivery in which some steps fail and one message is none of ours, each message is acknowledged by itself", async () => {
  await database.turnClock(); // stopped: the failing step's retry is not due while it is looked at
  const worker = await aWorker();
  const good = await stage.readyRun(worker);
  const failing = await worker.start("chain", { world: "http://127.0.0.1:1" }, { delay: "1 hour" });
  await database.pool.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [failing]);
  const messages = [{ body: "hello" }, { body: { runId: failing, turn: 1 } }, { body: { runId: good, turn: 1 } }];
  expect(await worker.deliver(messages)).toMatchObject({ acked: [0, 1, 2], retried: [] });
  expect(await worker.run(good)).toMatchObject({ status: "completed" });
  expect(await worker.run(failing)).toMatchObject({ status: "retrying" });
  await expect.poll(() => queue.waiting.at(-1)).toMatchObject({ body: { runId: failing, turn: 2 } }); // its retry
  expect(worker.logged).toEqual([expect.stringContaining("a message of the queue names no turn")]);
});

test("where the queue refuses what is sent, the alarm of the motion minute goes on", async () => {
  const clock = await database.turnClock();
  const worker = await aWorker();
  queue.isRefusing = true;
  const runId = await worker.start("chain", { world: stage.world.url, steps: 25 });
  await expect.poll(() => worker.logged.join()).toContain("the queue refuses messages: 429");
  expect(await worker.run(runId)).toMatchObject({ status: "queued" });
  queue.isRefusing = false;
  await clock.advance(unalignedMs);
  await worker.turn(unalignedMs);
  await expect.poll(() => queue.waiting).toHaveLength(1);
  await queue.drain(worker);
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});

test("what became of a run whose dispatch was given up is told by the log, and costs it nothing", async () => {
  const worker = await aWorker();
  const runId = await worker.start("patient", { world: stage.world.url });
  await queue.drain(worker);
  const gone = { runId: "01900000-0000-7000-8000-000000000000", turn: 1 };
  const messages = [{ body: { runId, turn: 1 } }, { body: gone }, { body: "hello" }];
  worker.logged.length = 0;
  stage.endpoint.next(denied);
  expect(await worker.deliver(messages, "layover-dead")).toMatchObject({ acked: [1, 2], retried: [[0, 10]] });
  expect(await worker.deliver(messages.slice(0, 1), "layover-dead")).toMatchObject({ acked: [0] });
  const story = worker.logged.at(-1);
  for (const part of [runId, "patient", "waiting", "dispatchedTurn", "waitsFor", "callback"])
    expect(story).toContain(part);
  expect(worker.logged.join("\n")).toContain("there is no run");
  expect(await worker.run(runId)).toMatchObject({ status: "waiting" });
});
