/** A Worker on workerd carries runs out: by its requests to itself, by its cron trigger, and for whoever may ask it. */
import { Response } from "miniflare";
import { expect, test } from "vitest";
import { aSlowBody, type SlowBody, slowly } from "../http/a-slow-body.ts";
import { testDatabase } from "../postgres/database.ts";
import { refused } from "../postgres/neon-endpoint.ts";
import { type AWorker, authorized, bundled } from "./a-worker.ts";
import { aStage, completed, linksBy, settledIn } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);

const denied = { message: "permission denied", code: "42501", severity: "ERROR" };

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
  await expect.poll(() => worker.run(runId)).toEqual(completed(`question: done by layover, after a nap`));
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

test("a sleep of some seconds ends with the first cron trigger after it", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  await settledIn(worker);
  const runId = await worker.start("sleepy", 11_000);
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "sleeping" });
  await clock.advance(10_999);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "sleeping" });
  await clock.advance(1);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed("rested"));
});

test("what a request leads to ends 20 s after its answer, what a cron trigger leads to after 13 minutes", async () => {
  const ends: unknown[] = [];
  const worker = await stage.begin({
    self: null,
    async outboundService(request) {
      const body = await request.text();
      if (new URL(request.url).pathname === "/internal/turns") {
        ends.push(JSON.parse(body).until);
        return new Response(null, { status: 204 });
      }
      const answer = await fetch(request.url, { method: "POST", headers: Object.fromEntries(request.headers), body });
      return new Response(await answer.text(), { status: answer.status });
    },
  });
  const before = Date.now();
  await worker.start("still");
  await expect.poll(() => ends).toHaveLength(1);
  expect(await worker.ring()).toBe("ok");
  const laterBy = (ms: number) => expect.toSatisfy((end: number) => end >= before + ms && end <= Date.now() + ms);
  expect(ends).toEqual([laterBy(20_000), laterBy(13 * 60_000)]);
});

test("a chain of requests to oneself ends at the twelfth, and the next cron trigger goes on", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  await settledIn(worker);
  const runId = await worker.start("chain", { world: stage.world.url, steps: 15 });
  await expect.poll(() => worker.run(runId)).toMatchObject({ records: 12 });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "queued", records: 12 });
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 15)));
  expect(worker.logged).toEqual([]);
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

test("a session of the user's own stands in for an API key, and keys count beside it", async () => {
  const worker = await stage.begin({ env: { SESSION: "s3cret" } });
  const ask = async (method: string, path: string, headers: Record<string, string>) =>
    (await fetch(`${worker.url}${path}`, { method, headers })).status;
  expect(await ask("GET", "/v1/runs", { cookie: "session=s3cret" })).toBe(200);
  expect(await ask("POST", "/v1/wake", { cookie: "session=s3cret" })).toBe(403);
  expect(await ask("GET", "/v1/runs", { cookie: "session=guessed" })).toBe(401);
  expect(await ask("GET", "/v1/runs", authorized)).toBe(200);
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
  // Its look at what is due, and the look that leaves schedules out.
  stage.endpoint.next(refused(400, JSON.stringify(denied)), refused(400, JSON.stringify(denied)));
  expect(await worker.ring()).toBe("exception");
  expect(await worker.ring()).toBe("ok");
});

test("all requests of an isolate share the room for bodies", async () => {
  const worker = await stage.begin();
  const post = (body: SlowBody) => fetch(`${worker.url}/v1/workflows/still/runs`, slowly(body, authorized));
  const whole = () => {
    const body = aSlowBody();
    body.send(1_000_000, "{}");
    body.end();
    return body;
  };
  expect((await post(whole())).status).toBe(201);
  const leave = new AbortController();
  const hold = () => {
    const body = aSlowBody();
    body.send(1_000_000);
    const init = { ...slowly(body, authorized), signal: leave.signal };
    void fetch(`${worker.url}/v1/workflows/still/runs`, init).catch(() => {});
  };
  for (let count = 0; count < 33; count += 1) hold();
  const refused = async () => {
    hold(); // in place of one that was refused while another body was whole
    return (await post(whole())).status;
  };
  await expect.poll(refused).toBe(503);
  leave.abort();
  await expect.poll(async () => (await post(whole())).status).toBe(201);
});

test("lists for which an isolate has no place are answered after the others", async () => {
  const worker = await stage.begin();
  const answers = await Promise.all(Array.from({ length: 12 }, () => worker.call("GET", "/v1/runs")));
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
});
