import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { AWorker, type WorkerOptions } from "./a-worker.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";
import { workerWithNode } from "./wrangler-bundle.ts";

const database = testDatabase();
const stage = aStage(database);
let script: string;
beforeAll(() => {
  script = workerWithNode("test/platform/workers/pg.ts");
});

async function aWorker(options: Partial<WorkerOptions> = {}): Promise<AWorker> {
  const env = { DATABASE_URL: `${database.url}?application_name=worker` };
  return await AWorker.begin({ script, usesNode: true, env, ...options });
}

/** How many connections Workers have. */
async function connections(): Promise<number> {
  const query = "select from pg_stat_activity where application_name = 'worker'";
  const { rowCount } = await database.pool.query(query);
  return rowCount ?? Number.NaN;
}

test("a Worker with `pg` carries a run from its start to its end, by TCP", async () => {
  const worker = await aWorker();
  const runId = await worker.start("chain", { world: stage.world.url, steps: 25 });
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 25)));
  expect(worker.logged).toEqual([]);
});

test("a Worker with `pg` carries what a queue delivers, whatever goes on beside it, and leaves no connection behind", async () => {
  const worker = await aWorker({ self: null, bound: { queue: {}, alarm: {} } });
  const chains = Array.from({ length: 12 }, () => worker.start("chain", { world: stage.world.url, steps: 25 }));
  const fans = [4, 30].map((steps) => worker.start("fan", { world: stage.world.url, steps }));
  for (const runId of await Promise.all([...chains, ...fans]))
    await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await worker.ring()).toBe("ok");
  await expect.poll(() => connections()).toBe(0);
  expect(worker.logged).toEqual([]);
});

test("whoever waits for others to carry out steps has no connection open, and nobody leaves one behind", async () => {
  const worker = await aWorker();
  const held = stage.world.hold("link-25");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 25 });
  await held.arrived; // in the third request, for which the first two wait, and the start
  await expect.poll(() => connections()).toBe(1);
  held.release();
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  await Promise.all(Array.from({ length: 20 }, () => worker.run(runId)));
  await worker.ring();
  await expect.poll(() => connections()).toBe(0);
});

test("a request that is cut off amid a step leaves no connection behind", async () => {
  const worker = await aWorker();
  const runId = await stage.readyRun(worker);
  await stage.cutOff(worker, runId);
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 0 });
  await expect.poll(() => connections()).toBe(0);
});
