/**
 * A deployment of a Worker that is new looks at everything, until its first cron trigger has done all that it has
 * begun.
 */
import { Response } from "miniflare";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { answered, refused } from "../postgres/neon-endpoint.ts";
import type { AWorker } from "./a-worker.ts";
import { aStage, lastDeployment, settledIn } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);

const denied = { message: "permission denied", code: "42501", severity: "ERROR" };

async function aBlockedRun(worker: AWorker): Promise<string> {
  const runId = await stage.readyRun(worker);
  const block = "update layover.run_state set blocked = 'by older code', due_at = null where run_id = $1";
  await database.pool.query(block, [runId]);
  return runId;
}

test("a new deployment has blocked runs tried again, once; an isolate that is new has not", async () => {
  const worker = await stage.begin({ env: { DEPLOYMENT: "one" } });
  await settledIn(worker);
  expect(await lastDeployment(database)).toBe("one");
  const runId = await aBlockedRun(worker);
  await worker.restart();
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual(["read_clock", "list_due", "prune_runs"]);
  await worker.restart({ DEPLOYMENT: "two" });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment(database)).toBe("two");
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual(["list_due", "prune_runs"]);
});

test("a deployment is new as long as what its first cron trigger has begun is not done", async () => {
  const worker = await stage.begin({ env: { DEPLOYMENT: "one" } });
  await settledIn(worker);
  const first = await aBlockedRun(worker);
  await worker.restart({ DEPLOYMENT: "two" });
  const held = stage.world.hold("link-1");
  const rung = worker.ring().catch(() => "lost");
  await held.arrived;
  worker.kill();
  await rung;
  expect(await lastDeployment(database)).toBe("one");
  await worker.restart({ DEPLOYMENT: "two" });
  const second = await aBlockedRun(worker);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(first)).toMatchObject({ status: "running" });
  expect(await worker.run(second)).toMatchObject({ status: "completed" });
  expect(await lastDeployment(database)).toBe("two");
});

test.each<[string, () => Promise<Response>]>([
  ["is refused", async () => new Response("no", { status: 503 })],
  ["is too large for who receives it", async () => new Response("no", { status: 413 })],
  ["breaks off", () => Promise.reject(new Error("lost"))],
])("a deployment is new as long as a request of its first cron trigger %s", async (_, fail) => {
  let isFailing = false;
  const worker = await stage.begin({
    self: null,
    env: { DEPLOYMENT: "one" },
    async outboundService({ url, method, headers, body: sent }) {
      if (isFailing && url.endsWith("/internal/turns")) return await fail();
      const body = sent === null ? null : await new Response(sent).text();
      const answer = await fetch(url, { method, headers: Object.fromEntries(headers), body });
      return new Response(answer.status === 204 ? null : await answer.text(), { status: answer.status });
    },
  });
  await settledIn(worker);
  const runId = await aBlockedRun(worker);
  await worker.restart({ DEPLOYMENT: "two" });
  isFailing = true;
  expect(await worker.ring()).toBe("ok");
  expect(worker.logged).toHaveLength(1);
  expect(await lastDeployment(database)).toBe("one");
  isFailing = false;
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment(database)).toBe("two");
});

test("a deployment is new as long as what its first cron trigger has dispatched could not be claimed", async () => {
  const worker = await stage.begin({ env: { DEPLOYMENT: "one" } });
  await settledIn(worker);
  const runId = await aBlockedRun(worker);
  await worker.restart({ DEPLOYMENT: "two" });
  stage.statements();
  stage.endpoint.next(answered, answered, answered, answered, answered, refused(400, JSON.stringify(denied)));
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual(["read_clock", "list_due", "note_deployment", "move_due", "prune_runs"]); // and a claim, unread
  expect(await lastDeployment(database)).toBe("one");
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment(database)).toBe("two");
});

test("a deployment without an id is known by a digest of its handlers", async () => {
  const worker = await stage.begin();
  await settledIn(worker);
  expect(await lastDeployment(database)).toMatch(/^[0-9a-f]{16}$/);
});

test("a new deployment looks at what is ready, whenever it is due", async () => {
  await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 13 });
  await expect.poll(() => worker.run(runId)).toMatchObject({ records: 12 });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});
