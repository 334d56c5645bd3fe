import { Pool } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { pg } from "../../src/postgres/pg.ts";
import { carryOut, sealCallback } from "../client/a-client.ts";
import { copyRows } from "../postgres/copy-rows.ts";
import { testDatabase } from "../postgres/database.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { anApp, authorized, json, order } from "./an-app.ts";

describe("in a copied database", () => {
  const database = testDatabase();
  const endpoint = "db.example.com/app";

  it.each([
    "start",
    "signal",
    "callback",
    "pause",
    "resume",
    "cancel",
    "terminate",
    "retry",
    "restart",
    "fork",
    "cancel of many",
    "delete",
    "signalWithStart",
    "pause of a workflow",
  ] as const)("a %s is refused with 409, and stores nothing", async (verb) => {
    const original = anApp(pg(database.pool, { endpoint }));
    await original.calls.adoptEnvironment("test");
    const { runId } = await original.client.start(order, { id: "1" });
    const path = "approval";
    await carryOut(original.calls, { runId, workflow: "order" }, { waitsFor: [{ kind: "callback", path }] });
    const { token } = sealCallback({
      runId,
      epoch: 0,
      path,
      occurrence: 0,
      workflow: "order",
      version: 1,
      name: path,
    });

    const restored = await freshDatabase(new URL("/postgres", database.url).href);
    onTestFinished(async () => await restored.drop());
    const pool = new Pool({ connectionString: restored.url });
    pool.on("error", () => {});
    onTestFinished(async () => void pool.end());
    await copyRows(database.pool, pool);
    const rows = async () =>
      (
        await pool.query(`select (select count(*)::int from layover.run) as runs,
          (select count(*)::int from layover.signal) as signals, (select count(*)::int from layover.callback) as answers,
          (select count(*)::int from layover.operation) as operations`)
      ).rows[0];
    const before = await rows();

    const copy = anApp(pg(pool, { endpoint }));
    const requests: Readonly<Record<typeof verb, readonly [path: string, init: RequestInit]>> = {
      start: ["/v1/workflows/order/runs", json({ input: { id: "2" } })],
      signal: [`/v1/runs/${runId}/signals/address`, json({ payload: { city: "Turin" } })],
      callback: [`/callbacks/${token}`, json({ ok: true })],
      pause: [`/v1/runs/${runId}/pause`, json({})],
      resume: [`/v1/runs/${runId}/resume`, json({})],
      cancel: [`/v1/runs/${runId}/cancel`, json({})],
      terminate: [`/v1/runs/${runId}/terminate`, json({})],
      "pause of a workflow": ["/v1/workflows/order/pause", json({})],
      "cancel of many": ["/v1/operations/cancel", json({ filter: { workflow: "order" } })],
      retry: [`/v1/runs/${runId}/retry`, json({})],
      restart: [`/v1/runs/${runId}/restart`, json({})],
      fork: [`/v1/runs/${runId}/fork`, json({})],
      delete: [`/v1/runs/${runId}`, { method: "DELETE", headers: authorized }],
      signalWithStart: [
        "/v1/workflows/order/signals/address",
        json({ id: "o9", input: { id: "2" }, payload: { city: "Turin" } }),
      ],
    };
    const response = await copy.app.request(...requests[verb]);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({
      code: "wrong_environment",
      detail: expect.stringContaining('the namespace "test" belongs to another database than this one'),
      hint: expect.stringContaining("layover adopt"),
    });
    expect(await rows()).toEqual(before);
    expect([copy.dispatches, copy.errors]).toEqual([[], []]);
  });
});
