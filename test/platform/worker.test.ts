import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { refused } from "../postgres/neon-endpoint.ts";
import { type AWorker, bundled } from "./a-worker.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";

const database = testDatabase({ perTest: true });
const stage = aStage(database);

/** Where its callback is to be answered, as it has logged. */
function callbackUrl({ logged }: AWorker): string {
  return /http:[\w.:/-]+\/callbacks\/[\w.-]+/.exec(logged.join("\n"))?.[0] ?? "";
}

test.each([
  ["at the root", "test/platform/workers/neon.ts", ""],
  ["mounted in another app", "test/platform/workers/mounted.ts", "/mounted"],
  ["as a route of another app", "test/platform/workers/mounted.ts", "/routed"],
])("a Worker %s carries a run from a POST through its callback to its end", async (_, entry, prefix) => {
  const worker = await stage.begin({ script: await bundled(entry) });
  worker.prefix = prefix;
  const runId = await worker.start("patient", { world: stage.world.url });
  await expect.poll(() => callbackUrl(worker)).toContain(`${worker.url}${prefix}/callbacks/`);
  const headers = { "content-type": "application/json" };
  const answer = await fetch(callbackUrl(worker), { method: "POST", headers, body: '"question"' });
  expect(await answer.json()).toEqual({ outcome: "resolved" });
  await expect
    .poll(() => worker.run(runId), { timeout: 10_000 })
    .toEqual(completed(`question: done by layover, after a nap`));
  expect(worker.logged).toHaveLength(1);
});

test("a long sleep is the cron trigger's", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  const runId = await worker.start("sleepy");
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "sleeping" });
  await worker.ring();
  expect(await worker.run(runId)).toMatchObject({ status: "sleeping" });
  await clock.advance(3_600_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed("rested"));
});

test("a chain of requests to oneself ends at the twelfth, and the next cron trigger goes on", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  expect(await worker.ring()).toBe("ok");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 15 });
  await expect.poll(() => worker.run(runId), { timeout: 10_000 }).toMatchObject({ records: 12 });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "queued", records: 12 });
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 15)));
  expect(worker.logged).toEqual([]);
});

test("an isolate that has not ticked yet looks at what is ready, whenever it is due", async () => {
  await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 13 });
  await expect.poll(() => worker.run(runId), { timeout: 10_000 }).toMatchObject({ records: 12 });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});

test("a cold isolate asks for the time once; from then on a turn is two statements", async () => {
  const worker = await stage.begin();
  const oneStep = async () => {
    const runId = await worker.start("chain", { world: stage.world.url });
    await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
    return stage.statements().filter((name) => name !== "get_run");
  };
  expect(await oneStep()).toEqual(["read_clock", "start_run", "claim_turns", "finish_turns"]);
  expect(await oneStep()).toEqual(["start_run", "claim_turns", "finish_turns"]);
  await worker.restart();
  const runId = await worker.start("chain", { world: stage.world.url, steps: 10 });
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  const sent = stage.statements().filter((name) => name !== "get_run");
  expect(sent).toEqual(["read_clock", "start_run", "claim_turns", ...Array.from({ length: 10 }, () => "finish_turns")]);
});

test("steps that are ready together share a request", async () => {
  const worker = await stage.begin();
  const runId = await worker.start("fan", { world: stage.world.url, steps: 10 });
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(3); // it asks, they run, it ends
});

test("a cron trigger that finds hundreds of runs has them all carried out by thirty requests", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  await database.pool.query(`select layover.start_run(json_build_object('namespace', 'default', 'workflow', 'still',
    'version', 1)::jsonb) from generate_series(1, 700)`);
  await clock.advance(120_000);
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(30);
  const { rowCount } = await database.pool.query("select from layover.run_state where status = 'completed'");
  expect(rowCount).toBe(700);
});

test("without a binding to itself the Worker calls its public address", async () => {
  const worker = await stage.begin({ self: null });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 11 });
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 11)));
  expect(worker.logged).toEqual([]);
});

test("a dispatch that is lost is reported, and the next cron trigger goes on", async () => {
  const worker = await stage.begin({ self: null, env: { PUBLIC_URL: `${stage.world.url}/nothing/here` } });
  const runId = await worker.start("chain", { world: stage.world.url });
  await expect.poll(() => worker.logged.join()).toContain("was answered 404");
  expect(await worker.run(runId)).toMatchObject({ status: "queued" });
  await worker.restart({ PUBLIC_URL: worker.url });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});

test("whoever asks for a step only waits: another request carries it out, and is answered when it is recorded", async () => {
  const worker = await stage.begin({ self: "carrier" });
  const held = stage.world.hold("link-1");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 2 });
  await held.arrived; // the start was answered, so this door is in its waitUntil
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 0 });
  held.release();
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("carrier", 2)));
});

test("a cron trigger that cannot do its work fails, and the next one does it", async () => {
  const worker = await stage.begin();
  const denied = { message: "permission denied", code: "42501", severity: "ERROR" };
  stage.endpoint.next(refused(400, JSON.stringify(denied)));
  expect(await worker.ring()).toBe("exception");
  expect(await worker.ring()).toBe("ok");
});
