import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import {
  answered,
  asleep,
  type Fate,
  halfAnswered,
  late,
  refused,
  unanswered,
  unread,
} from "../postgres/neon-endpoint.ts";
import { type AWorker, authorized } from "./a-worker.ts";
import { aStage, completed, linksBy, requestFor } from "./worker-stage.ts";

const database = testDatabase();
const stage = aStage(database);

/** How far a run is, without a statement on the wire. */
async function recordsOf(runId: string): Promise<string[]> {
  const { rows } = await database.pool.query("select path from layover.record where run_id = $1 order by position", [
    runId,
  ]);
  return rows.map(({ path }) => path);
}

test.each<[string, Fate]>([
  ["is cut before it is read", unread],
  ["is cut after the commit", unanswered],
  ["breaks off in its answer, after the commit", halfAnswered],
  ["gets a 500 without a code", refused(500, `{"message":"Couldn't connect to compute node","code":null}`)],
  ["gets a 503 and nothing else", refused(503)],
])("a run of whose statements each %s at first ends, each result recorded once", async (_, fate) => {
  await endsDespite(await stage.begin(), fate);
});

test.each<[string, Fate, Fate?]>([
  ["is refused twice", refused(503), refused(500)],
  ["is cut after the commit", unanswered],
])(
  "a run that the queue carries, of whose statements each %s at first, ends, each result recorded once",
  async (_, ...fates) => {
    await endsDespite(await stage.begin({ self: null, bound: { queue: {}, alarm: {} } }), ...fates);
  },
);

async function endsDespite(worker: AWorker, ...fates: (Fate | undefined)[]): Promise<void> {
  const before = stage.world.asked.length;
  const each = [...fates.filter((fate) => fate !== undefined), answered];
  stage.endpoint.next(...Array.from({ length: 6 }, () => each).flat()); // clock, start, claim, 3 finishes
  const runId = await worker.start("chain", { world: stage.world.url, steps: 3 });
  await expect.poll(() => recordsOf(runId)).toHaveLength(3);
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
  expect(stage.world.asked.slice(before)).toEqual(["link-1", "link-2", "link-3"]);
  expect(stage.endpoint.arrivals).toBeGreaterThanOrEqual(6 + 3 * fates.length);
}

test("a compute that takes two seconds for a claim and a finish of a delivery is asked for each once", async () => {
  const worker = await stage.begin({ self: null, bound: { queue: {}, alarm: {} } });
  const asked = stage.world.asked.length;
  const slow: Fate = async ({ carryOut, answer }) => {
    const outcome = await carryOut();
    setTimeout(() => answer(outcome), 2_000);
  };
  stage.endpoint.next(answered, answered, slow, slow);
  const runId = await worker.start("chain", { world: stage.world.url, steps: 2 });
  await expect.poll(() => recordsOf(runId)).toHaveLength(2);
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 2)));
  expect(stage.world.asked.slice(asked)).toEqual(["link-1", "link-2"]);
});

test("a compute that is asleep is asked once, and the run goes on when it is awake", async () => {
  const worker = await stage.begin();
  const awake = Promise.withResolvers<void>();
  stage.endpoint.next(asleep(awake.promise));
  const starting = worker.start("chain", { world: stage.world.url });
  await expect.poll(() => stage.endpoint.arrivals).toBe(1);
  awake.resolve();
  const runId = await starting;
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
});

test.each([
  ["after the commit", true, 1],
  ["before the commit", false, 2],
])("a step whose request is cut off %s of its record is recorded once", async (_, commits, times) => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  const before = stage.world.asked.length;
  const cut = stage.world.hold("cut");
  const finishing: Fate = async ({ carryOut }) => {
    if (commits) await carryOut();
    cut.release();
  };
  stage.endpoint.next(answered, finishing);
  const until = encodeURIComponent(`${stage.world.url}/cut`);
  await fetch(`${worker.url}/forward?until=${until}`, requestFor(runId));
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 1)));
  expect(stage.world.asked.slice(before).filter((path) => path === "link-1")).toHaveLength(times);
});

test("a start whose client leaves before it is answered is there, once, and is carried out", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  const answer = Promise.withResolvers<void>();
  stage.endpoint.next(answered, late(answer.promise));
  const leaving = new AbortController();
  const start = (signal?: AbortSignal) =>
    fetch(`${worker.url}/v1/workflows/chain/runs`, {
      method: "POST",
      headers: authorized,
      body: JSON.stringify({ id: "left", input: { world: stage.world.url } }),
      ...(signal && { signal }),
    });
  const left = start(leaving.signal);
  const runs = async () => (await database.pool.query("select from layover.run where user_id = 'left'")).rowCount;
  await expect.poll(runs).toBe(1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  answer.resolve(); // the Worker goes on, and may be the one that carries it out
  const again = await start();
  expect(again.status).toBe(200);
  const { runId } = await again.json();
  await clock.advance(180_000);
  await worker.ring();
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await runs()).toBe(1);
  // The body may have run twice: the clock may have ended the lease of a Worker that was at it.
  const { rows } = await database.pool.query("select path from layover.record where run_id = $1", [runId]);
  expect(rows).toEqual([{ path: "link" }]);
});
