import { expect, test } from "vitest";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { refused } from "../postgres/neon-endpoint.ts";
import { type AWorker, bundled } from "./a-worker.ts";
import { aStage, completed, linksBy, unalignedMs } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const denied = refused(400, JSON.stringify({ message: "permission denied", code: "42501", severity: "ERROR" }));
const hour = 3_600_000;
const bound = { queue: {}, alarm: {} };

/** A Worker and its database, whose clocks are turned together. */
async function begin(options: Parameters<typeof stage.begin>[0] = {}, settings = {}) {
  const clock: Clock = await database.turnClock();
  const worker = await stage.begin({ self: null, bound, ...options }, settings);
  let aheadMs = 0;
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    aheadMs += ms;
    await worker.turn(aheadMs);
  };
  return { worker, pass, clock };
}

async function asleep(worker: AWorker, ms?: number): Promise<string> {
  const runId = await worker.start("sleepy", ms);
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "sleeping" });
  return runId;
}

/** Whatever its start and its deployment have led to is over. */
async function settledIn(worker: AWorker, pass: (ms: number) => Promise<void>): Promise<void> {
  expect(await worker.ring()).toBe("ok");
  await pass(unalignedMs);
  await rungOut(worker);
}

/** Each minute that is over has rung, and its tick has ended: a clock that is turned by more than its deadline would end it. */
async function rungOut(worker: AWorker): Promise<void> {
  const over = async () => (await worker.minutes()).reduce((sum, [, over]) => sum + over, 0);
  await expect.poll(over).toBe(0);
  stage.statements();
}

test("a long sleep ends when its alarm rings, without the cron trigger", async () => {
  const { worker, pass } = await begin();
  const runId = await asleep(worker);
  await rungOut(worker);
  await pass(hour - 1);
  expect(await worker.run(runId)).toMatchObject({ status: "sleeping" });
  await rungOut(worker);
  await pass(62_001);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
  expect(worker.logged).toEqual([]);
});

test.each([
  ["back", -5 * 60_000],
  ["forward", 5 * 60_000],
])("a sleeper wakes by the database's clock, which was set %s by five minutes", async (_, step) => {
  const { worker, pass, clock } = await begin();
  const runId = await asleep(worker);
  await settledIn(worker, pass);
  await clock.advance(step);
  await asleep(worker, 24 * hour); // its answers tell the time
  await pass(62_000);
  await rungOut(worker);
  await pass(hour - step - 62_000 - unalignedMs - 1);
  expect(await worker.run(runId)).toMatchObject({ status: "sleeping" });
  await rungOut(worker);
  await pass(62_001 + unalignedMs);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("an hour in which nothing is due sends no statement, though the cron trigger rings each minute", async () => {
  const { worker, pass } = await begin();
  await asleep(worker, 2 * hour);
  const waiting = await worker.start("patient", { world: stage.world.url });
  await expect.poll(() => worker.run(waiting)).toMatchObject({ status: "waiting" });
  await settledIn(worker, pass);
  for (let minute = 0; minute < 60; minute += 1) {
    await pass(60_000);
    expect(await worker.ring()).toBe("ok");
  }
  expect(stage.statements()).toEqual([]);
});

test("a Worker that is mounted in another app is rung as well", async () => {
  const { worker, pass } = await begin({ script: await bundled("test/platform/workers/mounted.ts") });
  worker.prefix = "/mounted";
  const runId = await asleep(worker);
  await pass(hour + 62_000);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("several objects share the minutes, and each rings for its own", async () => {
  const { worker, pass } = await begin({ bound: { queue: {}, alarm: { shards: 3 } } }, { alarmShards: 3 });
  const runIds = await Promise.all([1, 2, 3, 4, 5].map((minute) => asleep(worker, hour + minute * 60_000)));
  for (const [kept] of await worker.minutes()) expect(kept).toBeGreaterThan(0);
  await pass(hour + 5 * 60_000 + 62_000);
  for (const runId of runIds) await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("an object that was evicted rings", async () => {
  const { worker, pass } = await begin();
  const runId = await asleep(worker);
  await worker.evictObjects();
  await pass(hour + 62_000);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("an object that hangs is given up, whatever the runtime would wait for", async () => {
  const worker = await stage.begin({
    script: await bundled("test/platform/workers/hanging.ts"),
    self: null,
    bound: { alarm: {} },
  });
  expect(await (await fetch(worker.url)).text()).toContain("answered too late");
});

test("a database that refuses seven ticks in a row is ticked again, and the run goes on", async () => {
  const { worker, pass } = await begin({}, { tellsEach: true });
  const runId = await asleep(worker);
  await settledIn(worker, pass);
  // Each looks twice, the second time without schedules, and then for schedules alone.
  stage.endpoint.next(...Array.from({ length: 3 * 7 }, () => denied));
  await pass(hour);
  for (let tries = 1; tries <= 7; tries += 1) {
    const failed = () => worker.logged.filter((line) => line.includes("ticking"));
    await expect.poll(failed).toHaveLength(tries);
    await pass(30_000);
  }
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("an alarm that the runtime has dropped is missed by the cron trigger, which ticks", async () => {
  const { worker, pass } = await begin();
  const runId = await asleep(worker);
  await settledIn(worker, pass);
  await worker.dropAlarms();
  await pass(hour - unalignedMs + 10_000);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
  await pass(97_000);
  expect(await worker.ring()).toBe("ok");
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
  await rungOut(worker);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
});

test("a machine that is lost amid a tick rings again, without the cron trigger", async () => {
  const { worker, pass } = await begin();
  const runId = await asleep(worker);
  await settledIn(worker, pass);
  const ticking = Promise.withResolvers<void>();
  stage.endpoint.next(async () => ticking.resolve());
  await pass(hour);
  await ticking.promise;
  worker.kill();
  await worker.restart();
  await pass(0);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
});

test("with an alarm and no queue a Worker asks itself, and its alarm is not the cron trigger", async () => {
  const { worker, pass } = await begin({ bound: { alarm: {} } });
  const runId = await asleep(worker);
  const chain = await worker.start("chain", { world: stage.world.url, steps: 25 });
  await expect.poll(() => worker.run(chain)).toEqual(completed(linksBy("layover", 25)));
  await pass(hour + 62_000);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
  for (let rings = 0; rings < 3; rings += 1) {
    await pass(unalignedMs);
    await rungOut(worker);
  }
  expect((await worker.minutes()).flat()).toEqual([0, 0]); // it does not ring for ever
});

test("with a queue and no alarm the cron trigger asks the database", async () => {
  const { worker, pass } = await begin({ bound: { queue: {} } });
  const runId = await asleep(worker);
  await pass(hour);
  expect(await worker.ring()).toBe("ok");
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
  expect(worker.logged).toEqual([expect.stringContaining("no `alarm`")]);
});

test("a cron trigger that rings twice in a minute, and not for an hour, changes nothing", async () => {
  const { worker, pass } = await begin();
  const runId = await asleep(worker);
  expect(await Promise.all([worker.ring(), worker.ring()])).toEqual(["ok", "ok"]);
  await pass(hour + 62_000);
  await expect.poll(() => worker.run(runId)).toEqual(completed("rested"));
  expect(await worker.ring()).toBe("ok");
  expect(worker.logged).toEqual([]);
});

test("each six hours one tick sweeps, and reports what no alarm stood for", async () => {
  const { worker, pass } = await begin();
  await asleep(worker, 100 * hour);
  await settledIn(worker, pass);
  await pass(6 * hour);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements().toSorted()).toEqual(["list_due", "note_deployment", "prune_runs"]);
  await database.pool.query(
    `select layover.start_run('{"namespace": "default", "workflow": "still", "version": 1}'::jsonb)`,
  );
  await pass(6 * hour - 60_000);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
  await pass(60_000);
  expect(await worker.ring()).toBe("ok");
  expect(worker.logged).toEqual([expect.stringContaining("1 run was due and no alarm rang for it")]);
});

test("a new deployment has blocked runs tried again, once", async () => {
  const { worker, pass } = await begin({ env: { DEPLOYMENT: "one" } });
  await asleep(worker, 100 * hour);
  await settledIn(worker, pass);
  const runId = await stage.readyRun(worker);
  await database.pool.query("update layover.run_state set blocked = 'by older code', due_at = null where run_id = $1", [
    runId,
  ]);
  await pass(unalignedMs);
  await rungOut(worker);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
  await worker.restart(); // another isolate, of the same deployment
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
  await worker.restart({ DEPLOYMENT: "two" });
  expect(await worker.ring()).toBe("ok");
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 1)));
  await rungOut(worker);
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual([]);
});
