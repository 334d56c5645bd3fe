import { Response } from "miniflare";
import { expect, test } from "vitest";
import { aSlowBody, type SlowBody, slowly } from "../http/a-slow-body.ts";
import { testDatabase } from "../postgres/database.ts";
import { answered, refused } from "../postgres/neon-endpoint.ts";
import { type AWorker, authorized, bundled } from "./a-worker.ts";
import { aStage, completed, linksBy, patiently } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);

const denied = { message: "permission denied", code: "42501", severity: "ERROR" };

/** Where its callback is to be answered, as it has logged. */
function callbackUrl({ logged }: AWorker): string {
  return /http:[\w.:/-]+\/callbacks\/[\w.-]+/.exec(logged.join("\n"))?.[0] ?? "";
}

/** Has a run end and the cron trigger ring: this deployment is not new any more, and has said what it does without. */
async function settledIn(worker: AWorker): Promise<void> {
  const runId = await worker.start("still");
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await worker.ring()).toBe("ok");
  expect(worker.logged.splice(0)).toEqual([
    expect.stringContaining("no `queue`: the Worker asks itself by requests"),
    expect.stringContaining("no `alarm`: each cron trigger asks the database, which never sleeps"),
    expect.stringContaining("serve's option `queue` finds nothing in env"),
    expect.stringContaining("the webhook shop answers before, which needs the queue"),
  ]);
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
  await expect.poll(() => worker.run(runId), { timeout: 10_000 }).toMatchObject({ records: 12 });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "queued", records: 12 });
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 15)));
  expect(worker.logged).toEqual([]);
});

/** Which deployment was the last one to look at everything. */
async function lastDeployment(): Promise<unknown> {
  const { rows } = await database.pool.query(
    "select id from layover.deployment where looked_at is not null order by looked_at desc limit 1",
  );
  return rows[0]?.id ?? null;
}

async function aBlockedRun(worker: AWorker): Promise<string> {
  const runId = await stage.readyRun(worker);
  const block = "update layover.run_state set blocked = 'by older code', due_at = null where run_id = $1";
  await database.pool.query(block, [runId]);
  return runId;
}

test("a new deployment has blocked runs tried again, once; an isolate that is new has not", async () => {
  const worker = await stage.begin({ env: { DEPLOYMENT: "one" } });
  await settledIn(worker);
  expect(await lastDeployment()).toBe("one");
  const runId = await aBlockedRun(worker);
  await worker.restart();
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements()).toEqual(["read_clock", "list_due", "prune_runs"]);
  await worker.restart({ DEPLOYMENT: "two" });
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment()).toBe("two");
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
  expect(await lastDeployment()).toBe("one");
  await worker.restart({ DEPLOYMENT: "two" });
  const second = await aBlockedRun(worker);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(first)).toMatchObject({ status: "running" });
  expect(await worker.run(second)).toMatchObject({ status: "completed" });
  expect(await lastDeployment()).toBe("two");
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
  expect(await lastDeployment()).toBe("one");
  isFailing = false;
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment()).toBe("two");
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
  expect(await lastDeployment()).toBe("one");
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await lastDeployment()).toBe("two");
});

test("a deployment without an id is known by a digest of its handlers", async () => {
  const worker = await stage.begin();
  await settledIn(worker);
  expect(await lastDeployment()).toMatch(/^[0-9a-f]{16}$/);
});

test("a new deployment looks at what is ready, whenever it is due", async () => {
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

test("where runs are more than may be carried at a time, each goes one request far, and the next cron trigger goes on", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  const runIds = await Promise.all(Array.from({ length: 41 }, () => stage.readyRun(worker, 2)));
  expect(await worker.ring()).toBe("ok");
  const records = async () => {
    const { rows } = await database.pool.query("select run_id, last_position from layover.run_state");
    return rows.map(({ last_position }) => last_position);
  };
  expect(await records()).toEqual(runIds.map(() => 1));
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await records()).toEqual(runIds.map(() => 2));
});

test("of hundreds of runs that lost lease after lease each cron trigger has ten tried, each alone, and counts no other", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  await database.pool.query(`select layover.start_run(json_build_object('namespace', 'default', 'workflow', 'still',
    'version', 1)::jsonb) from generate_series(1, 200)`);
  await database.pool.query(`update layover.run_state set status = 'running', token = gen_random_uuid(),
    leased_until = layover.now(), lost = 4`);
  await clock.advance(120_000);
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(10);
  const left = async () => {
    const query = "select from layover.run_state where status = 'running' and dispatches = 0";
    return (await database.pool.query(query)).rowCount;
  };
  expect(await left()).toBe(190);
  expect(await lastDeployment()).toBeNull(); // it has not looked at all of them
  expect(await worker.ring()).toBe("ok");
  expect(await left()).toBe(180);
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
  await expect.poll(refused, patiently).toBe(503);
  leave.abort();
  await expect.poll(async () => (await post(whole())).status, patiently).toBe(201);
});

test("lists for which an isolate has no place are answered after the others", async () => {
  const worker = await stage.begin();
  const answers = await Promise.all(Array.from({ length: 12 }, () => worker.call("GET", "/v1/runs")));
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
});
