import { describe, expect, it } from "vitest";
import { scopes } from "../../src/http/api-key.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, json, order } from "./an-app.ts";

describe("pause, resume and terminate over HTTP", () => {
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
    for (const verb of ["pause", "resume", "terminate"]) {
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
