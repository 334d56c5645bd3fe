import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { scopes } from "../../src/http/api-key.ts";
import { carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, bare, json, order } from "./an-app.ts";

describe("pause, resume, cancel and terminate over HTTP", () => {
  const database = testDatabase();

  it("answer what became of the run, and 409 where they do not apply", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const paused = await app.request(`/v1/runs/${runId}/pause`, json({ by: "ada", reason: "to see" }));
    expect([paused.status, await paused.json()]).toEqual([200, { runId, outcome: "paused" }]);
    const resumed = await app.request(`/v1/runs/${runId}/resume`, json({}));
    expect([resumed.status, await resumed.json()]).toEqual([200, { runId, outcome: "resumed" }]);
    const again = await app.request(`/v1/runs/${runId}/resume`, json({}));
    expect([again.status, await again.json()]).toMatchObject([409, { code: "not_applicable", runStatus: "queued" }]);
  });

  it("cancel a run whose start was put off at once, and ask another one to clean up", async () => {
    const { app, client, calls } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    await carryOut(calls, { runId, workflow: "order" }, { waitsFor: [] });
    const delayed = await client.start(order, { id: "2" }, { delay: "1 hour", id: "later" });
    const body = json({ by: "ada", reason: "ordered twice" });
    const cancelling = await app.request(`/v1/runs/${runId}/cancel`, body);
    expect([cancelling.status, await cancelling.json()]).toEqual([200, { runId, outcome: "cancelling" }]);
    const cancelled = await app.request("/v1/workflows/order/ids/later/cancel", body);
    expect([cancelled.status, await cancelled.json()]).toEqual([200, { runId: delayed.runId, outcome: "cancelled" }]);
    const again = await app.request(`/v1/runs/${delayed.runId}/cancel`, body);
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { code: "not_applicable", runStatus: "cancelled", detail: expect.stringContaining("cannot be cancelled") },
    ]);
  });

  it("delete a run that is over, by DELETE, for keys with the scope admin alone", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" }, { id: "gone" });
    const remove = async (key = aKey()) => {
      const init = { method: "DELETE", headers: { authorization: `Bearer ${key}` } };
      const response = await app.request(`/v1/runs/${runId}?by=ada&reason=a%20wish`, init);
      return [response.status, await response.json()];
    };
    expect(await remove()).toMatchObject([409, { code: "not_applicable", runStatus: "queued" }]);
    await client.terminate(runId);
    expect(await remove(aKey(...scopes.filter((scope) => scope !== "admin")))).toMatchObject([403, { scope: "admin" }]);
    expect(await remove()).toEqual([200, { runId, outcome: "deleted" }]);
    expect(await remove()).toEqual([200, { runId, outcome: "deleted" }]);
    expect((await app.request(`/v1/runs/${runId}`, { headers: authorized })).status).toBe(404);
    const { rows } = await database.pool.query("select asked_by, reason from layover.deletion");
    expect(rows).toEqual([{ asked_by: "ada", reason: "a wish" }]);
    const byOwnId = await app.request("/v1/workflows/order/ids/gone", { method: "DELETE", headers: authorized });
    expect([byOwnId.status, byOwnId.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("fork a run once for each key, which becomes the id of the new run", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    await client.terminate(runId);
    const fork = async (key: string) => {
      const response = await app.request(`/v1/runs/${runId}/fork`, json({}, { ...authorized, "idempotency-key": key }));
      return [response.status, await response.json()];
    };
    expect(await fork("my-fork")).toMatchObject([
      400,
      {
        code: "invalid_request",
        field: "Idempotency-Key",
        detail: expect.stringContaining("is not a uuid of version 7"),
      },
    ]);
    const key = v7();
    expect(await fork(key)).toEqual([201, { runId: key, outcome: "forked" }]);
    expect(await fork(`"${key}"`)).toEqual([201, { runId: key, outcome: "forked" }]);
    const { rows } = await database.pool.query(
      "select count(*)::integer as forks from layover.epoch where why = 'forked'",
    );
    expect(rows).toEqual([{ forks: 1 }]);
  });

  it("refuse a retry whose signal is none, before anything is asked", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    for (const signal of [5, null, [], { payload: 1 }, { name: "address", more: 1 }]) {
      const refused = await app.request(`/v1/runs/${runId}/retry`, json({ signal }));
      expect([refused.status, await refused.json()]).toMatchObject([400, { code: "invalid_request", field: "signal" }]);
    }
  });

  it("tell in the history whose results a retry was given", async () => {
    const { app, client, calls } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const step = {
      kind: "step",
      occurrence: 1,
      isFailure: true,
      value: encode(new Error("no")),
      at: Date.now(),
    } as const;
    const records = ["pay", "send"].map((path) => ({ ...step, path }));
    await carryOut(calls, { runId, workflow: "order" }, { records, next: "failed", value: encode(new Error("no")) });
    const retried = await app.request(`/v1/runs/${runId}/retry`, json({ by: "ada", results: { pay: { id: "ch_1" } } }));
    expect(retried.status).toBe(200);
    const history = await app.request(`/v1/runs/${runId}/history`, { headers: authorized });
    const [pay, send] = (await history.json()).records;
    expect(pay).toMatchObject({ path: "pay", isGiven: true, givenBy: "ada", value: { id: "ch_1" } });
    expect(send).toMatchObject({ path: "send", isGiven: false });
  });

  it("reach a run by the user's own id", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" }, { id: "mine/100% ü" });
    const path = `/v1/workflows/order/ids/${encodeURIComponent("mine/100% ü")}/pause`;
    const paused = await app.request(path, json({}));
    expect([paused.status, await paused.json()]).toEqual([200, { runId, outcome: "paused" }]);
  });

  it("need no body", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const init = { method: "POST", headers: authorized };
    expect((await app.request(`/v1/runs/${runId}/pause`, init)).status).toBe(200);
  });

  it("are for keys with the scope admin alone, and ask the database nothing for others", async () => {
    const { app, client, statements } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const key = aKey(...scopes.filter((scope) => scope !== "admin"));
    const before = statements.length;
    for (const verb of ["pause", "resume", "cancel", "terminate"]) {
      const init = { method: "POST", headers: { authorization: `Bearer ${key}` } };
      const response = await app.request(`/v1/runs/${runId}/${verb}`, init);
      expect([response.status, await response.json()]).toMatchObject([403, { code: "forbidden", scope: "admin" }]);
    }
    expect(statements.length).toBe(before);
  });

  it.each([
    [{ reason: 1 }, "invalid_request", "reason"],
    [{ who: "ada" }, "invalid_request", "who"],
    [{ callId: "x" }, "invalid_request", "callId"],
  ])("refuse %j", async (body, code, field) => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const response = await app.request(`/v1/runs/${runId}/pause`, json(body));
    expect([response.status, await response.json()]).toMatchObject([400, { code, field }]);
  });
});

describe("acts on many runs over HTTP", () => {
  const database = testDatabase({ perTest: true });
  const filter = { workflow: "order" };

  it("do one page a request, and tell by a cursor where the next one begins", async () => {
    const { app, client } = anApp(database.query);
    for (const id of ["1", "2", "3"]) await client.start(order, { id }, { tags: { region: "eu" } });
    const ask = async (body: object) => {
      const response = await app.request("/v1/operations/pause", json({ filter, limit: 2, ...body }));
      return [response.status, await response.json()];
    };
    const [, first] = await ask({ by: "ada" });
    expect(first).toMatchObject({ runs: 2, outcomes: { paused: 2 }, cursor: expect.any(String) });
    const { callId, cursor } = first;
    expect(await ask({ by: "ada", callId, cursor })).toEqual([
      200,
      { callId, runs: 1, outcomes: { paused: 1 }, refused: [], statuses: {}, runIds: [] },
    ]);
    const createdFrom = "2026-01-01T00:00:00Z";
    const [, dry] = await ask({ filter: { ...filter, tags: { region: "eu" }, version: 1, createdFrom }, dryRun: true });
    expect(dry).toMatchObject({ runs: 2, statuses: { paused: 2 }, outcomes: {} });
  });

  it("are for keys with the scope admin alone", async () => {
    const { app } = anApp(database.query);
    const key = aKey(...scopes.filter((scope) => scope !== "admin"));
    for (const verb of ["pause", "resume", "cancel", "terminate", "retry", "restart", "delete", "signal"]) {
      const init = { ...json({ filter }), headers: { authorization: `Bearer ${key}` } };
      const response = await app.request(`/v1/operations/${verb}`, init);
      expect([response.status, await response.json()]).toMatchObject([403, { code: "forbidden", scope: "admin" }]);
    }
    expect((await app.request("/v1/operations/fork", json({ filter }))).status).toBe(404);
  });

  it("pause a workflow, and resume it", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const ask = async (verb: string, body: object = {}) => {
      const response = await app.request(`/v1/workflows/order/${verb}`, json(body));
      return [response.status, await response.json()];
    };
    expect(await ask("resume")).toMatchObject([409, { code: "not_applicable" }]);
    expect(await ask("pause", { by: "ada" })).toMatchObject([200, { outcomes: { paused: 1 }, mayMissStarts: false }]);
    expect(await client.get(runId)).toMatchObject({ status: "paused", isHeld: true });
    expect(await ask("resume", { limit: 1 })).toMatchObject([
      200,
      { outcomes: { resumed: 1 }, cursor: expect.any(String) },
    ]);
    expect(await ask("pause", { filter: {} })).toMatchObject([400, { code: "invalid_request", field: "filter" }]);
    const key = aKey(...scopes.filter((scope) => scope !== "admin"));
    const init = { ...json({}), headers: { authorization: `Bearer ${key}` } };
    for (const verb of ["pause", "resume"])
      expect((await app.request(`/v1/workflows/order/${verb}`, init)).status).toBe(403);
  });

  it.each([
    [{}, "filter"],
    [{ filter: [] }, "the body"],
    [{ filter: { statuss: "queued" } }, "statuss"],
    [{ filter: { status: "done" } }, "status"],
    [{ filter: { workflow: "order", createdFrom: "yesterday" } }, "createdFrom"],
    [{ filter, dryRun: "yes" }, "dryRun"],
    [{ filter, limit: 501 }, "limit"],
    [{ filter, perSecond: 1 }, "perSecond"],
  ])("refuse %j", async (body, field) => {
    const { app } = anApp(database.query);
    const response = await app.request("/v1/operations/cancel", json(body));
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_request", field }]);
  });
});

describe("a signal to many runs over HTTP", () => {
  const database = testDatabase();

  it("is refused where it or its workflow is missing, or where the workflow is not known", async () => {
    const { app } = anApp(database.query);
    const ask = async (body: object) => {
      const response = await app.request("/v1/operations/signal", json(body));
      return [response.status, await response.json()];
    };
    const signal = { name: "address", payload: { city: "Bonn" } };
    expect(await ask({ filter: { workflow: "order" } })).toMatchObject([400, { field: "signal" }]);
    expect(await ask({ filter: { status: "queued" }, signal })).toMatchObject([400, { field: "filter" }]);
    expect(await ask({ filter: { workflow: "unknown" }, signal })).toMatchObject([404, { code: "unknown_workflow" }]);
  });
});

describe("POST /v1/runs/:id/restart", () => {
  const database = testDatabase();

  it("restarts nothing where `dryRun` is neither true nor false", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(bare);
    const response = await app.request(`/v1/runs/${runId}/restart`, json({ dryRun: "true" }));
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "invalid_request", field: "dryRun", detail: "dryRun is a text, not true or false" },
    ]);
  });
});
