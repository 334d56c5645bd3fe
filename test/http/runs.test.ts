/** Runs as they are read over HTTP: lists of them, one with its history, and the result. */
import { describe, expect, it } from "vitest";
import { carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, authorized, bare, order } from "./an-app.ts";

describe("reading runs", () => {
  const database = testDatabase();

  it("GET /v1/runs filters, and pages by a cursor", async () => {
    const { app, client, calls } = anApp(database.query);
    const tags = { customer: "c:1", region: "eu" };
    const one = await client.start(order, { id: "1" }, { tags });
    const two = await client.start(order, { id: "2" }, { tags });
    const three = await client.start(bare, undefined, { tags });
    await carryOut(calls, { runId: three.runId, workflow: "bare" }, { completed: 1 });
    const list = async (query: string) => (await app.request(`/v1/runs?${query}`, { headers: authorized })).json();
    const ids = async (query: string) => (await list(query)).runs.map((run: { runId: string }) => run.runId);
    expect(await ids("tag=customer:c:1&tag=region:eu")).toEqual([three.runId, two.runId, one.runId]);
    expect(await ids("workflow=order&workflow=bare")).toEqual([two.runId, one.runId]);
    expect(await ids("status=completed")).toEqual([three.runId]);
    const page = await list("limit=2");
    expect(await ids(`limit=2&cursor=${page.cursor}`)).toEqual([one.runId]);
    expect((await list(`cursor=${page.cursor}`)).cursor).toBeUndefined();
  });

  it("GET /v1/runs/:id and /history show a run as plain JSON", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" }, { id: "shown" });
    const run = await (await app.request(`/v1/runs/${runId}`, { headers: authorized })).json();
    expect(run).toMatchObject({ runId, id: "shown", status: "queued", input: { id: "1", amount: 1 } });
    expect(run.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    const history = await app.request(`/v1/runs/${runId}/history`, { headers: authorized });
    const nothing = { epoch: 0, epochs: [], records: [], attempts: [], attemptCount: 0, pending: [], operations: [] };
    expect(await history.json()).toEqual({ runId, ...nothing });
    expect((await app.request(`/v1/runs/${runId}`, { method: "HEAD", headers: authorized })).status).toBe(200);
  });

  it("GET /v1/runs/:id/result answers 202 while there is none, then how the run ended", async () => {
    const { app, client, calls } = anApp(database.query);
    const result = async (runId: string) => {
      const response = await app.request(`/v1/runs/${runId}/result`, { headers: authorized });
      return [response.status, await response.json()];
    };
    const well = await client.start(order, { id: "1" });
    expect(await result(well.runId)).toEqual([
      202,
      { runId: well.runId, workflow: "order", version: 1, status: "queued" },
    ]);
    await carryOut(calls, { runId: well.runId, workflow: "order" }, { completed: { charge: "c1" } });
    expect(await result(well.runId)).toEqual([
      200,
      { runId: well.runId, workflow: "order", version: 1, status: "completed", result: { charge: "c1" } },
    ]);
    const ill = await client.start(order, { id: "2" });
    await carryOut(calls, { runId: ill.runId, workflow: "order" }, { failed: { name: "Error", message: "no" } });
    expect(await result(ill.runId)).toMatchObject([200, { status: "failed", error: { name: "Error", message: "no" } }]);
  });

  it("tells unknown runs and bad filters by their codes", async () => {
    const { app } = anApp(database.query);
    const code = async (path: string) => {
      const response = await app.request(path, { headers: authorized });
      return `${response.status} ${(await response.json()).code}`;
    };
    expect(await code("/v1/runs/0190a1b2-0000-7000-8000-000000000000")).toBe("404 unknown_run");
    expect(await code("/v1/runs/%00")).toBe("404 unknown_run");
    expect(await code("/v1/runs/%ff%fe/history")).toBe("404 unknown_run");
    expect(await code("/v1/runs?status=done")).toBe("400 invalid_request");
    expect(await code("/v1/runs?createdFrom=yesterday")).toBe("400 invalid_request");
    expect(await code("/v1/runs?endedBefore=2026-11-20")).toBe("400 invalid_request");
    expect(await code("/v1/runs?workflow=order&version=one")).toBe("400 invalid_request");
    expect(await code("/v1/runs?limit=201")).toBe("400 invalid_request");
    expect(await code("/v1/runs?limit=-1")).toBe("400 invalid_request");
    expect(await code("/v1/runs?tag=customer")).toBe("400 invalid_request");
    expect(await code("/v1/runs?tag=a:1&tag=a:2")).toBe("400 invalid_request");
    expect(await code("/v1/runs?tag=a:%00")).toBe("422 invalid_name");
    expect(await code("/v1/runs?cursor=x")).toBe("400 invalid_cursor");
    expect(await code("/v1/runs/0190a1b2-0000-7000-8000-000000000000/result?wait=soon")).toBe("422 invalid_duration");
  });
});
