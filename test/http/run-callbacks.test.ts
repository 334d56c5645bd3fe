import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/http/api-key.ts";
import { carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, json, order, type TestApp } from "./an-app.ts";

const own: readonly Scope[] = ["callbacks"];
const operator = { authorization: `Bearer ${aKey(...own)}` };

/** A run that waits for callbacks at these places, each named by the last part of its path. */
async function aRunThatWaits(
  { client, calls, app }: TestApp,
  waits: readonly (string | { readonly path: string; readonly occurrence: number; readonly until?: number })[],
) {
  const { runId } = await client.start(order, { id: "1" });
  const claim = { environment: "test", endpoint: calls.endpoint, versions: { order: [1] }, leaseMs: 60_000 };
  const token = crypto.randomUUID();
  await calls.claimTurns({
    ...claim,
    maxClaims: 50,
    maxBeginnings: 5,
    turns: [{ runId, turn: 1, token, alone: false }],
  });
  const demands = waits.map((wait, ordinal) => {
    const place = typeof wait === "string" ? { path: wait, occurrence: 1 } : wait;
    return { ...place, kind: "callback" as const, demandedAfter: 0, ordinal };
  });
  await calls.finishTurns([{ runId, token, position: 0, next: "parked", demands }], []);
  return async (name: string, init: RequestInit = { headers: operator }) => {
    const [at = "", verb = ""] = name.split("!");
    const response = await app.request(`/v1/runs/${runId}/callbacks/${encodeURIComponent(at)}${verb}`, init);
    return { status: response.status, body: await response.json() };
  };
}

describe("a callback of a run", () => {
  const database = testDatabase();

  it("has its link given again, which shows and answers it", async () => {
    const test = anApp(database.query);
    const until = Date.now() + 3_600_000;
    const ask = await aRunThatWaits(test, [{ path: "ask/approval", occurrence: 1, until }]);
    const { status, body } = await ask("approval");
    expect(status).toBe(200);
    expect(body).toEqual({
      runId: expect.any(String),
      path: "ask/approval",
      occurrence: 1,
      workflow: "order",
      version: 1,
      name: "approval",
      status: "open",
      deadline: new Date(until).toISOString(),
      url: expect.stringMatching(/^https:\/\/example\.com\/callbacks\/[\w-]+\.[\w-]+$/),
    });
    expect((await ask("approval")).body.url).toBe(body.url);
    const link = new URL(body.url).pathname;
    expect((await test.app.request(link, json({ ok: true }, {}))).status).toBe(200);
    expect((await ask("approval")).body).toMatchObject({ status: "resolved" });
  });

  it("is answered by an operator, once, and by the contract's schema", async () => {
    const test = anApp(database.query);
    const ask = await aRunThatWaits(test, ["approval"]);
    const wrong = await ask("approval!/resolve", json({ ok: "perhaps" }, operator));
    expect([wrong.status, wrong.body.code]).toEqual([422, "invalid_payload"]);
    for (let times = 1; times <= 2; times += 1) {
      expect(await ask("approval!/resolve", json({ ok: true }, operator))).toEqual({
        status: 200,
        body: { outcome: "resolved" },
      });
    }
    expect(test.dispatches.at(-1)?.turns).toEqual([{ runId: expect.any(String), turn: 2 }]);
    const other = await ask("approval!/resolve", json({ ok: false }, operator));
    expect([other.status, other.body.code]).toEqual([409, "callback_conflict"]);
  });

  it("is rejected by an operator, who says why", async () => {
    const test = anApp(database.query);
    const ask = await aRunThatWaits(test, ["approval"]);
    expect(await ask("approval!/reject", json({ message: "too expensive" }, operator))).toEqual({
      status: 200,
      body: { outcome: "rejected" },
    });
    expect((await ask("approval")).body).toMatchObject({ status: "rejected" });
  });

  it("is named by its place where the run waits for several of that name", async () => {
    const test = anApp(database.query);
    const second = { path: "ship[1]/approval", occurrence: 2 };
    const ask = await aRunThatWaits(test, ["ship[0]/approval", "ship[1]/approval", second]);
    expect(await ask("approval")).toMatchObject({
      status: 400,
      body: {
        code: "invalid_request",
        detail: "the callback's name fits 3 waits of this run",
        hint: 'Name one by its place. The run waits at "ship[0]/approval", "ship[1]/approval", "ship[1]/approval#2".',
      },
    });
    expect((await ask("ship[1]/approval#2!/resolve", json({ ok: true }, operator))).status).toBe(200);
    expect((await ask("ship[1]/approval#2")).body).toMatchObject({ ...second, name: "approval", status: "resolved" });
    expect((await ask("ship[1]/approval")).body).toMatchObject({ status: "open" });
  });

  it("still tells what became of it when the run has gone on", async () => {
    const test = anApp(database.query);
    const ask = await aRunThatWaits(test, ["approval"]);
    await ask("approval!/resolve", json({ ok: true }, operator));
    const { runs } = await test.client.list({ limit: 1 });
    const { runId = "" } = runs[0] ?? {};
    await carryOut(test.calls, { runId, workflow: "order", turn: 2 }, { completed: "done" });
    expect((await ask("approval")).body).toMatchObject({ status: "resolved", path: "approval" });
    expect((await ask("anything")).body).toMatchObject({ status: "over" });
  });

  it("that the run does not wait for is a 404, which says what it waits for", async () => {
    const ask = await aRunThatWaits(anApp(database.query), ["approval"]);
    expect(await ask("refund")).toMatchObject({
      status: 404,
      body: {
        code: "unknown_callback",
        detail: 'the run does not wait for a callback "refund"',
        hint: 'Name one by its place. The run waits at "approval".',
      },
    });
    expect((await ask("refund!/resolve", json({ ok: true }, operator))).status).toBe(404);
  });

  it("needs a scope of its own", async () => {
    const ask = await aRunThatWaits(anApp(database.query), ["approval"]);
    const others = { authorization: `Bearer ${aKey("start", "read", "signal", "admin")}` };
    for (const [name, init] of [
      ["approval", { headers: others }],
      ["approval!/resolve", json({ ok: true }, others)],
      ["approval!/reject", json({ message: "no" }, others)],
    ] as const) {
      expect(await ask(name, init)).toMatchObject({ status: 403, body: { code: "forbidden", scope: "callbacks" } });
      expect((await ask(name, { ...init, headers: {} })).status).toBe(401);
    }
    expect((await ask("approval")).body).toMatchObject({ status: "open" });
  });
});
