/** Workflows on a host that answers requests by a function, with the stand-alone alarm that wakes it. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { pause } from "../../src/core/waits.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { aSlowBody, slowly } from "../http/a-slow-body.ts";
import { testDatabase } from "../postgres/database.ts";
import { authorized } from "./a-worker.ts";
import { appUrl, PlayedFetch, type PlayedFetchOptions } from "./played-fetch.ts";

const database = testDatabase({ isOwn: true });
const minuteMs = 60_000;
/** How long after its start a run's instants have rung, those included on which nothing counts any more. */
const settledMs = 5 * minuteMs;

const otherSecrets = new Secrets(["YW5vdGhlciBzZWNyZXQsIHdoaWNoIGlzIGFsc28gbG9uZyBlbm91Z2ghISE"]);

const bodies: string[] = [];
const chain = workflow({ name: "chain", version: 1, input: z.number(), output: z.number() }).handler(
  async ({ input, step }) => {
    for (let count = 1; count <= input; count += 1) await step.run(`step ${count}`, () => void bodies.push(`${count}`));
    return input;
  },
);
const sleeper = workflow({ name: "sleeper", version: 1, input: z.number(), output: z.string() }).handler(
  async ({ input, step }) => {
    await step.sleepUntil("nap", input);
    return await step.run("morning", () => {
      bodies.push("awake");
      return "awake";
    });
  },
);

/** The next body of this workflow never ends by itself. */
let stuck: PromiseWithResolvers<void> | undefined;
const sticky = workflow({ name: "sticky", version: 1, output: z.string() }).handler(async ({ step }) =>
  step.run("once", async () => {
    bodies.push("begun");
    await stuck?.promise;
    return "done";
  }),
);
const workflows = [chain, sleeper, sticky];

async function begin(options: Partial<PlayedFetchOptions> = {}): Promise<PlayedFetch> {
  bodies.length = 0;
  const clock = await database.turnClock();
  const played = new PlayedFetch({ workflows, query: database.query, clock, ...options });
  await clock.set(played.time.now());
  return played;
}

function countsOf(statements: readonly string[]): unknown {
  return Object.fromEntries([...Map.groupBy(statements, (name) => name)].map(([name, all]) => [name, all.length]));
}

test("a request carries out what it has made ready: ten steps in a row take 13 statements and a message to the alarm", async () => {
  const played = await begin();
  const runId = await played.start("chain", 10);
  await played.pass(2_000);
  const { statements, armed } = played.take();
  expect(countsOf(statements)).toEqual({ read_clock: 1, start_run: 1, claim_turns: 1, finish_turns: 10 });
  expect(armed).toBe(1);
  expect(await played.run(runId)).toMatchObject({ status: "completed", result: 10 });
});

test("a run that sleeps for an hour is woken by the alarm, once, and nobody asks the database while it sleeps", async () => {
  const played = await begin();
  const startedAt = played.time.now();
  const runId = await played.start("sleeper", startedAt + 60 * minuteMs);
  await played.pass(settledMs);
  const started = played.take();
  await played.pass(50 * minuteMs);
  expect(played.take()).toEqual({ statements: [], armed: 0, rings: 0 });
  await played.time.passUntil(startedAt + 60 * minuteMs + 70_000);
  expect(await played.run(runId)).toMatchObject({ status: "completed", result: "awake" });
  await played.pass(settledMs);
  const woken = played.take();
  expect(bodies).toEqual(["awake"]);
  const statements = [...started.statements, ...woken.statements];
  const work = { start_run: 1, claim_turns: 2, finish_turns: 2, move_due: 2, note_deployment: 3, get_run: 1 };
  const looks = started.rings + woken.rings;
  expect(countsOf(statements)).toEqual({ ...work, list_due: looks, prune_runs: looks, read_clock: looks + 1 });
  expect([started.rings, started.armed, woken.rings, woken.armed]).toEqual([3, 2, 3, 1]);
  await played.pass(settledMs);
  expect(played.take()).toEqual({ statements: [], armed: 0, rings: 0 });
});

test.each([0, -40_000, 40_000])(
  "a run wakes within two minutes though the alarm's clock is off by %s ms",
  async (ms) => {
    const played = await begin({ alarmAheadMs: ms });
    const startedAt = played.time.now();
    await played.start("sleeper", startedAt + 20 * minuteMs);
    while (bodies.length === 0) await played.pass(1_000);
    expect(played.time.now()).toBeGreaterThanOrEqual(startedAt + 20 * minuteMs);
    expect(played.time.now()).toBeLessThanOrEqual(startedAt + 22 * minuteMs);
  },
);

test("a run whose process dies amid a step goes on in another one when its lease is over, by the alarm alone", async () => {
  const played = await begin();
  stuck = Promise.withResolvers();
  const runId = await played.start("sticky");
  await played.pass(1_000);
  expect(bodies).toEqual(["begun"]);
  played.kill();
  stuck = undefined;
  await played.pass(3 * minuteMs);
  expect(await played.run(runId)).toMatchObject({ status: "completed", result: "done" });
  expect(bodies).toEqual(["begun", "begun"]);
});

test("nothing is started where the alarm cannot be armed, and the caller is told so", async () => {
  const played = await begin();
  played.isAlarmDown = true;
  const { status, body } = await played.call("POST", "/v1/workflows/chain/runs", { input: 1 });
  expect([status, body]).toEqual([503, expect.objectContaining({ code: "unreachable" })]);
  expect(played.take().statements).toEqual(["read_clock"]);
  played.isAlarmDown = false;
  const runId = await played.start("chain", 1);
  await played.pass(1_000);
  expect(await played.run(runId)).toMatchObject({ status: "completed" });
});

test("nothing is started where the alarm has another key, or none of this app", async () => {
  const played = await begin();
  Reflect.set(played.env, "ORDERS_KEY", otherSecrets.keyFor("alarm"));
  expect((await played.call("POST", "/v1/workflows/chain/runs", { input: 1 })).status).toBe(503);
  expect(played.take().statements).toEqual(["read_clock"]);
});

test("a tick begins nothing once its time is over, and what is left goes on within two minutes", async () => {
  const played = await begin({ limit: "500ms" });
  await played.start("chain", 1);
  await played.pass(settledMs);
  bodies.length = 0;
  await played.startBare(490, { workflow: "chain", version: 1, input: 1 });
  await played.call("POST", "/v1/wake");
  await played.pass(5_000);
  const begun = bodies.length;
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(400);
  await played.pass(125_000);
  expect(bodies.length).toBeGreaterThan(begun);
  await played.pass(20 * minuteMs);
  expect(bodies).toHaveLength(490);
});

test("a run goes on where its request had to end: the alarm brings the rest", async () => {
  const played = await begin({ limit: "1 second" });
  const runId = await played.start("chain", 50);
  await played.pass(2_000);
  const { records } = Object(await played.run(runId));
  expect(records).toBeGreaterThan(10);
  expect(records).toBeLessThan(30);
  await played.pass(10 * minuteMs);
  expect(await played.run(runId)).toMatchObject({ status: "completed", result: 50 });
  expect(bodies).toHaveLength(50);
});

let stage: PlayedFetch;
/** A body that takes three minutes. It notes how long its request has been under way. */
async function scene(name: string): Promise<void> {
  const sinceMs = stage.time.now() - (stage.requestBegan.getStore() ?? 0);
  bodies.push(`${name} after ${Math.round(sinceMs / 10_000) * 10} s`);
  await pause(stage.time.host, 3 * minuteMs);
}
const filmInput = z.object({ timeout: z.number(), isTogether: z.boolean() });
const film = workflow({ name: "film", version: 1, input: filmInput }).handler(async ({ input, step }) => {
  const { timeout } = input;
  await step.run("a", () => scene("a"), { timeout });
  const next = ["b", "c"].map((name) => () => step.run(name, () => scene(name), { timeout }));
  if (input.isTogether) await Promise.all(next.map((begin) => begin()));
  else for (const begin of next) await begin();
});

test.each([
  ["in a row", 240_000, false],
  ["side by side", 240_000, true],
  ["that may take nearly all of a request", 295_000, false],
])(
  "a step that fits into a fresh request, and not into what is left of this one, begins in another: steps %s",
  async (_, timeout, isTogether) => {
    stage = await begin({ workflows: [film], limit: "300 seconds" });
    const runId = await stage.start("film", { timeout, isTogether });
    await stage.pass(20 * minuteMs);
    expect(await stage.run(runId)).toMatchObject({ status: "completed" });
    expect(bodies).toEqual(["a after 0 s", "b after 0 s", "c after 0 s"]);
  },
);

test("where nothing goes on after an answer, the work is done before it", async () => {
  const played = await begin({ endsWithAnswer: true });
  const runId = await played.start("chain", 3);
  expect(bodies).toEqual(["1", "2", "3"]);
  expect(await played.run(runId)).toMatchObject({ status: "completed" });
});

test("more runs than one tick may dispatch wake by rings that follow each other", async () => {
  const played = await begin();
  await played.start("chain", 1);
  await played.pass(settledMs);
  played.take();
  const wakesAt = played.time.now() + 10 * minuteMs;
  await played.startBare(1_200, { workflow: "sleeper", version: 1, input: wakesAt });
  await played.call("POST", "/v1/wake");
  await played.pass(9 * minuteMs);
  bodies.length = 0;
  played.take();
  await played.time.passUntil(wakesAt + 2 * minuteMs);
  expect(bodies).toHaveLength(1_200);
  const rings = played.rings.filter(({ at }) => at <= wakesAt + 10_000);
  expect(rings.map(({ more }) => more)).toEqual([true, true, false]);
});

test("a sweep finds what nobody armed, six hours later, and says so", async () => {
  const told: string[] = [];
  const played = await begin({ onEvent: ({ kind }) => void told.push(kind) });
  await played.start("chain", 1);
  await played.pass(settledMs);
  await played.startBare(1, { workflow: "chain", version: 1, input: 2 });
  await played.pass(5 * 60 * minuteMs);
  expect(bodies).toHaveLength(1);
  await played.pass(61 * minuteMs);
  expect(bodies).toHaveLength(3);
  expect(told).toContain("sweep_found");
});

test("a ring that the alarm has not signed is refused before any statement", async () => {
  const played = await begin();
  await played.start("chain", 1);
  await played.pass(settledMs);
  played.take();
  for (const headers of [
    {},
    authorized,
    { "layover-signature": `t=${Math.floor(played.time.now() / 1_000)},v1=${"A".repeat(43)}` },
  ]) {
    const request = new Request(`${appUrl}/internal/tick`, { method: "POST", headers, body: "{}" });
    expect((await played.handle(request)).status).toBe(401);
  }
  expect(played.take().statements).toEqual([]);
});

test("all requests of a process share the room for bodies, and get it back from bodies that do not end", async () => {
  const played = await begin();
  const path = `${appUrl}/v1/workflows/chain/runs`;
  const slow = Array.from({ length: 33 }, aSlowBody);
  const answers = slow.map((body) => {
    body.send(1_000_000);
    return played.handle(new Request(path, slowly(body, authorized)));
  });
  const late = aSlowBody();
  late.send(1_000_000, '{"input":1}');
  late.end();
  await played.pass(20);
  const refused = played.handle(new Request(path, slowly(late, authorized)));
  await played.pass(20);
  expect((await refused).status).toBe(503);
  await played.pass(minuteMs);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(33).fill(408));
  expect(await played.start("chain", 1)).toMatch(/^[\w-]{36}$/);
});

test("all requests of a process share the three places for lists", async () => {
  const played = await begin();
  await played.start("chain", 0);
  await played.pass(2_000);
  played.take();
  const list = () => played.handle(new Request(`${appUrl}/v1/runs`, { headers: authorized }));
  const answers = Array.from({ length: 7 }, list);
  await played.pass(19);
  expect(countsOf(played.statements)).toEqual({ list_runs: 3 });
  await played.pass(5_000);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(7).fill(200));
});
