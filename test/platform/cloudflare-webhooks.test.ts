/** Deliveries that a Worker answers before they are carried out: by the queue, once, whatever is lost. */
import { createHmac } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type Fate, refused, unanswered } from "../postgres/neon-endpoint.ts";
import { signed } from "../standard-webhooks.ts";
import type { AWorker } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const denied = refused(400, JSON.stringify({ message: "permission denied", code: "42501", severity: "ERROR" }));
let queue: PlayedQueue;
beforeEach(async () => {
  queue = await PlayedQueue.open();
});

const aWorker = (env: Readonly<Record<string, string>> = {}): Promise<AWorker> =>
  stage.begin({ self: null, env: { QUEUE_URL: queue.url, ...env }, bound: { alarm: {} } }, { tellsEach: true });

const eventOf = (id: string, more = {}) => JSON.stringify({ id, input: { world: stage.world.url, steps: 1 }, ...more });

function fromGitHub(guid: string, body: string): RequestInit {
  const mac = createHmac("sha256", "hook").update(body).digest("hex");
  return {
    method: "POST",
    body,
    headers: { "x-hub-signature-256": `sha256=${mac}`, "x-github-event": "push", "x-github-delivery": guid },
  };
}

async function send(worker: AWorker, name: string, request: RequestInit) {
  const response = await fetch(`${worker.url}/webhooks/${name}`, request);
  const { outcome, code } = Object(await response.json());
  return [response.status, outcome ?? code];
}

const push = (worker: AWorker, guid = "g1") => send(worker, "github", fromGitHub(guid, eventOf(guid)));

async function statuses(worker: AWorker): Promise<(readonly [id: string, status: string])[]> {
  const { body } = await worker.call("GET", "/v1/runs");
  return Object(body).runs.map(({ id, status }: { id: string; status: string }) => [id, status]);
}

/** The message with the delivery, which waits in the queue. */
function sealed() {
  const [message] = queue.waiting;
  return { body: message?.body, text: JSON.stringify(message?.body ?? "") };
}

describe("a delivery of GitHub's", () => {
  test("is accepted without any SQL, sealed in the queue, and done when that brings it back", async () => {
    const worker = await aWorker();
    expect(await push(worker)).toEqual([202, "accepted"]);
    expect(stage.statements()).toEqual([]);
    expect(queue.waiting).toHaveLength(1);
    for (const part of ["github", btoa("github"), "x-github-event"]) expect(sealed().text).not.toContain(part);
    const { body } = sealed();
    await queue.drain(worker);
    expect(await statuses(worker)).toEqual([["g1", "completed"]]);
    expect(await worker.deliver([{ body }, { body }])).toMatchObject({ acked: [0, 1], retried: [] });
    expect(await statuses(worker)).toHaveLength(1);
    expect((await worker.call("GET", "/v1/webhooks/github/deliveries/g1")).body).toMatchObject({
      outcome: "done",
      attempts: 1,
      event: { payload: { id: "g1" } },
    });
  });

  test("goes through a real queue to the end of its run", async () => {
    const worker = await stage.begin({ self: null, bound: { queue: {}, alarm: {} } });
    expect(await push(worker)).toEqual([202, "accepted"]);
    await expect.poll(() => statuses(worker)).toEqual([["g1", "completed"]]);
    expect(worker.logged).toEqual([]);
  });

  test("waits in the queue as long as the database is away, and among the dead letters after that", async () => {
    const worker = await aWorker();
    await push(worker);
    const { body } = sealed();
    for (const [attempts, delay] of [
      [1, 10],
      [2, 30],
      [7, 6_900],
      [13, 6_900],
    ] as const) {
      stage.endpoint.next(denied);
      expect(await worker.deliver([{ body, attempts }])).toMatchObject({ acked: [], retried: [[0, delay]] });
    }
    stage.endpoint.next(denied);
    expect(await worker.deliver([{ body }], "layover-dead")).toMatchObject({ acked: [], retried: [[0, 43_200]] });
    expect(worker.logged.join("\n")).toContain("that was answered before");
    expect(await worker.deliver([{ body }], "layover-dead")).toMatchObject({ acked: [0], retried: [] });
    expect(await statuses(worker)).toEqual([["g1", "completed"]].map(([id]) => [id, expect.any(String)]));
  });

  test("whose commit was not answered is done once", async () => {
    const worker = await aWorker();
    await push(worker);
    const { body } = sealed();
    stage.endpoint.next(unanswered, unanswered, unanswered);
    await worker.deliver([{ body }]);
    await worker.deliver([{ body }]);
    expect(await statuses(worker)).toHaveLength(1);
    expect((await worker.call("GET", "/v1/webhooks/github/deliveries/g1")).body).toMatchObject({ attempts: 1 });
  });

  test.each(["before", "after"])("whose machine is lost %s its commit is done once, by the next one", async (when) => {
    const worker = await aWorker();
    await worker.run("01900000-0000-7000-8000-000000000000"); // the isolate knows the time
    await push(worker);
    const fate: Fate = async ({ carryOut }) => {
      if (when === "after") await carryOut();
      worker.kill();
    };
    stage.endpoint.next(fate);
    await queue.deliver(worker);
    await worker.restart();
    await queue.drain(worker);
    expect(await statuses(worker)).toEqual([["g1", "completed"]]);
    expect((await worker.call("GET", "/v1/webhooks/github/deliveries/g1")).body).toMatchObject({ attempts: 1 });
  });

  test("is done before its answer where the queue takes no message, or none so long", async () => {
    const worker = await aWorker();
    queue.isRefusing = true;
    expect(await push(worker)).toEqual([200, "done"]);
    queue.isRefusing = false;
    const long = fromGitHub("g2", eventOf("g2", { text: "x".repeat(100_000) }));
    expect(await send(worker, "github", long)).toEqual([200, "done"]);
    expect((await statuses(worker)).map(([id]) => id).sort()).toEqual(["g1", "g2"]);
    expect(queue.waiting.filter(({ body }) => Object(body).sealed !== undefined)).toEqual([]);
  });

  test("is noted by the queue where the code throws, and GitHub is told", async () => {
    const worker = await aWorker();
    expect(await send(worker, "github", fromGitHub("g1", "{}"))).toEqual([500, "webhook_failed"]);
    expect(stage.statements()).toEqual([]);
    await queue.drain(worker);
    expect((await worker.call("GET", "/v1/deliveries?open=true")).body).toMatchObject({
      deliveries: [{ id: "g1", outcome: "failed" }],
    });
  });
});

test("a sealed delivery that was changed, or sealed by another secret, is carried out by nobody", async () => {
  const worker = await aWorker();
  await push(worker);
  const { text } = sealed();
  const { sealed: good }: { readonly sealed: string } = JSON.parse(text);
  const changed = `${good.slice(0, -2)}${good.endsWith("AA") ? "BB" : "AA"}`;
  expect(await worker.deliver([{ body: { sealed: changed } }, { body: { sealed: "1.a.b" } }])).toMatchObject({
    acked: [],
  });
  await worker.restart({ LAYOVER_SECRET: "YW5vdGhlciBzZWNyZXQsIHdoaWNoIGlzIGxvbmcgZW5vdWdoIGZvciB0aGlz" });
  expect(await worker.deliver([{ body: { sealed: good } }])).toMatchObject({ acked: [], retried: [[0, 10]] });
  expect((await database.pool.query("select 1 from layover.run")).rowCount).toBe(0);
});

test("another webhook answers before where its options say so, and answers 500 where there is no queue", async () => {
  const bound = await aWorker();
  const sent = () => signed({ id: "d1", body: eventOf("d1"), secret: `whsec_${btoa("a secret of the shop")}` });
  expect(await send(bound, "shop", sent())).toEqual([202, "accepted"]);
  const unbound = await stage.begin({ bound: { alarm: {} } });
  expect(await send(unbound, "shop", sent())).toEqual([500, "internal"]);
  expect(await push(unbound)).toEqual([200, "done"]);
  await unbound.ring();
  await expect.poll(() => unbound.logged.join("\n")).toContain("serve's option `queue` finds nothing in env");
  expect(unbound.logged.join("\n")).toContain("the webhook shop answers before");
});
