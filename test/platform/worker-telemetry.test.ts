/**
 * OpenTelemetry's own SDK and exporter in a Worker on the real workerd. A delivery ends only once its spans are in a
 * receiver that speaks OTLP over HTTP, so nothing is lost with an isolate.
 */
import { afterAll, beforeEach, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type AWorker, bundled } from "./a-worker.ts";
import { attributeOf, openCollector } from "./collector.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage } from "./worker-stage.ts";

const stage = aStage(testDatabase({ isOwn: true }));
const collector = await openCollector();
const { spans } = collector;
afterAll(() => collector.close());

let queue: PlayedQueue;
beforeEach(async () => {
  queue = await PlayedQueue.open();
  for (const list of [spans, collector.types]) list.length = 0;
});

async function aTracedWorker(): Promise<AWorker> {
  const script = await bundled("test/platform/workers/traced.ts", { tracesUrl: collector.url });
  return await stage.begin({ script, self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } });
}

/** Answers the names of the spans of a run. */
function namesOf(runId: string): readonly string[] {
  return spans.filter((span) => attributeOf(span, "layover.run.id") === runId).map(({ name }) => name);
}

const times = (count: number, name: string) => Array.from({ length: count }, () => name);

test("when a delivery ends, the spans of its turns and steps are sent, and all are in one trace", async () => {
  const worker = await aTracedWorker();
  const runId = await worker.start("chain", { world: stage.world.url, steps: 25 });
  await expect.poll(() => queue.waiting).toHaveLength(1);
  const sent: number[] = [];
  while (queue.waiting.length > 0) {
    await queue.deliver(worker);
    sent.push(namesOf(runId).filter((name) => name === "step link").length);
  }
  expect(sent).toEqual([20, 25]);
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([runId.replaceAll("-", "")]));
  expect(new Set(collector.types)).toEqual(new Set(["/v1/traces application/json"]));
  expect(worker.logged).toEqual([]);
});

test("deliveries side by side in one isolate share the SDK, and lose no span", async () => {
  const worker = await aTracedWorker();
  const starts = Array.from({ length: 6 }, () => worker.start("chain", { world: stage.world.url, steps: 2 }));
  const runIds = await Promise.all(starts);
  await expect.poll(() => queue.waiting).toHaveLength(6);
  await Promise.all(runIds.map(() => queue.deliver(worker, 1)));
  for (const runId of runIds) {
    expect(namesOf(runId).filter((name) => name === "step link")).toEqual(times(2, "step link"));
  }
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(worker.logged).toEqual([]);
});

test("a collector that does not answer holds a delivery for two seconds, and what comes later is sent again", async () => {
  const worker = await aTracedWorker();
  const [late, next] = [
    await worker.start("chain", { world: stage.world.url }),
    await worker.start("chain", { world: stage.world.url }),
  ];
  await expect.poll(() => queue.waiting).toHaveLength(2);
  collector.opens = new Promise(() => {});
  await queue.deliver(worker, 1);
  collector.opens = Promise.resolve();
  expect(worker.logged).toEqual([expect.stringContaining("took longer than 2 s")]);
  expect(namesOf(late)).toEqual([]);
  await queue.deliver(worker, 1);
  expect(namesOf(next)).toContain("step link");
  for (const runId of [late, next]) expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});
