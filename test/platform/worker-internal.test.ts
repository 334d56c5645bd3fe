import { expect, onTestFinished, test } from "vitest";
import { turnsRequest } from "../../src/http/internal.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { signatureHeader } from "../../src/http/signature.ts";
import { testDatabase } from "../postgres/database.ts";
import { refused } from "../postgres/neon-endpoint.ts";
import { secrets } from "./a-worker.ts";
import { aStage, completed, linksBy, requestFor } from "./worker-stage.ts";

const database = testDatabase();
const stage = aStage(database);

const until = Date.now() + 600_000;
const message = { turns: [{ runId: "01900000-0000-7000-8000-000000000000", turn: 1 }], hops: 1, until };
const signed = turnsRequest(message, { secrets, namespace: "default" });
const tenMinutes = 600_000;
const denied = { message: "permission denied", code: "42501", severity: "ERROR" };

test("a request to carry out turns that is not signed here and now is refused before any statement", async () => {
  const worker = await stage.begin();
  const another = new Secrets([`another ${crypto.randomUUID()}`]);
  const requests: readonly RequestInit[] = [
    { ...signed, headers: {} },
    { ...signed, headers: { [signatureHeader]: "t=1,v1=" } },
    { ...signed, body: JSON.stringify({ ...message, hops: 0 }) },
    turnsRequest(message, { secrets: another, namespace: "default" }),
    turnsRequest(message, { secrets, namespace: "other" }),
    turnsRequest(message, { secrets, namespace: "default", nowMs: Date.now() - tenMinutes }),
    turnsRequest(message, { secrets, namespace: "default", nowMs: Date.now() + tenMinutes }),
  ];
  for (const request of requests) {
    const response = await fetch(`${worker.url}/internal/turns`, request);
    expect([response.status, await response.json()]).toMatchObject([401, { code: "unauthorized" }]);
  }
  expect(stage.endpoint.arrivals).toBe(0);
  expect(worker.logged).toEqual([]);
});

test("a request to carry out turns that comes again changes nothing", async () => {
  const worker = await stage.begin();
  const held = stage.world.hold("link-2");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 2 });
  await held.arrived;
  const again = async () => {
    const request = turnsRequest(
      {
        turns: [
          { runId, turn: 1 },
          { runId, turn: 2 },
        ],
        hops: 1,
        until,
      },
      { secrets, namespace: "default" },
    );
    expect((await fetch(`${worker.url}/internal/turns`, request)).status).toBe(204);
  };
  await again();
  expect(await worker.run(runId)).toMatchObject({ status: "running", turn: 2, records: 1 });
  held.release();
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 2)));
  stage.statements();
  await again();
  expect(stage.statements()).toEqual(["claim_turns"]);
  expect(stage.world.asked).toEqual(["link-1", "link-2"]);
});

test.each([
  [1, 10],
  [2, 5],
  [11, 1],
])("a request for %i turns carries out ten steps of them or so: %i of each", async (turns, records) => {
  const worker = await stage.begin();
  const runIds = await Promise.all(Array.from({ length: turns }, () => stage.readyRun(worker, 12)));
  await fetch(`${worker.url}/internal/turns`, requestFor(...runIds));
  for (const runId of runIds) expect(await worker.run(runId)).toMatchObject({ status: "queued", records });
});

test("a request to carry out turns that comes after its end carries out nothing", async () => {
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  stage.statements();
  const late = turnsRequest(
    { turns: [{ runId, turn: 1 }], hops: 1, until: Date.now() },
    { secrets, namespace: "default" },
  );
  const answer = await fetch(`${worker.url}/internal/turns`, late);
  expect([answer.status, await answer.json()]).toMatchObject([503, { code: "too_late" }]);
  expect(stage.statements()).toEqual([]);
  expect(worker.logged).toEqual([]);
});

test("whoever asks for turns that cannot be claimed is told so, and the operator why", async () => {
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  stage.endpoint.next(refused(400, JSON.stringify(denied)));
  const answer = await fetch(`${worker.url}/internal/turns`, requestFor(runId));
  const document = await answer.json();
  expect([answer.status, document]).toMatchObject([503, { code: "database_unavailable" }]);
  expect(JSON.stringify(document)).not.toContain(denied.message);
  expect(worker.logged).toEqual([expect.stringContaining(denied.message)]);
  expect(await worker.run(runId)).toMatchObject({ status: "queued", records: 0 });
});

test("a copy of the database claims nothing, which whoever asks is told, too", async () => {
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  const adoptAt = async (endpoint: string) =>
    void (await database.pool.query("update layover.environment set endpoint = $1", [endpoint]));
  onTestFinished(() => adoptAt(database.query.endpoint));
  await adoptAt("elsewhere.example.com/main");
  const answer = await fetch(`${worker.url}/internal/turns`, requestFor(runId));
  const document = await answer.json();
  expect([answer.status, document]).toMatchObject([503, { code: "database_unavailable" }]);
  expect(JSON.stringify(document)).not.toContain("environment");
  expect(worker.logged).toEqual([expect.stringContaining("layover adopt")]);
});

test("a step under way at a request's end is recorded, and none follows it", async () => {
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker, 3);
  const held = stage.world.hold("link-1");
  const soon = Date.now() + 500;
  const sent = turnsRequest({ turns: [{ runId, turn: 1 }], hops: 1, until: soon }, { secrets, namespace: "default" });
  const answered = fetch(`${worker.url}/internal/turns`, sent);
  await held.arrived;
  await expect.poll(() => Date.now()).toBeGreaterThan(soon);
  held.release();
  expect((await answered).status).toBe(204);
  expect(await worker.run(runId)).toMatchObject({ status: "queued", records: 1 });
});

test("a request to carry out turns is answered when they are carried out", async () => {
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  const held = stage.world.hold("link-1");
  const events: string[] = [];
  const answered = fetch(`${worker.url}/internal/turns`, requestFor(runId)).then(() => events.push("answered"));
  await held.arrived;
  events.push("released");
  held.release();
  await answered;
  expect(events).toEqual(["released", "answered"]);
  expect(await worker.run(runId)).toMatchObject({ status: "completed" });
});

test("a step whose caller is cut off is given up, and carried out again when its lease is over", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  const runId = await stage.readyRun(worker);
  const asked = stage.world.asked.length;
  await stage.cutOff(worker, runId);
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 0 });
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 1)));
  expect(stage.world.asked.slice(asked).filter((path) => path === "link-1")).toHaveLength(2);
});
