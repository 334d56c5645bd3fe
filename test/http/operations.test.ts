import { describe, expect, it } from "vitest";
import { scopes } from "../../src/http/api-key.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, json, order } from "./an-app.ts";

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
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
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
