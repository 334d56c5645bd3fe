import { describe, expect, it } from "vitest";
import { carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, json, order, orderV2 } from "./an-app.ts";

describe("signals over HTTP", () => {
  const database = testDatabase();

  it("are sent to a run by our id or by the user's own: 202, and what became of them", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" }, { id: "mine/100% ü" });
    const body = { payload: { city: "Bonn" }, dedupeId: "d1" };
    const byRunId = await app.request(`/v1/runs/${runId}/signals/address`, json(body));
    expect([byRunId.status, await byRunId.json()]).toEqual([202, { runId, outcome: "sent" }]);
    const path = `/v1/workflows/order/ids/${encodeURIComponent("mine/100% ü")}/signals/address`;
    const byId = await app.request(path, json(body));
    expect([byId.status, await byId.json()]).toEqual([202, { runId, outcome: "duplicate" }]);
  });

  it("take one statement where the version is known, and are checked by the run's own version where it is not", async () => {
    const { app, client, statements } = anApp(database.query, { contracts: [order, orderV2] });
    const path = "/v1/workflows/order/ids/versioned/signals/address";
    await client.start(order, { id: "1" }, { id: "versioned" });
    expect((await app.request(path, json({ payload: { city: "Bonn" } }))).status).toBe(202);
    const { app: single } = anApp(database.query, { contracts: [order] });
    const before = statements.length;
    expect((await single.request(path, json({ payload: { city: "Bonn" } }))).status).toBe(202);
    expect(statements.length).toBe(before);
  });

  it("are refused where the run keeps as many as it may, or as many bytes, until it has taken some", async () => {
    const { app, client } = anApp(database.query);
    const full = async (signals: number, payload: string) => {
      const { runId } = await client.start(order, { id: "1" });
      const put = `insert into layover.signal (run_id, id, dedupe_id, name, payload, is_parsed, received_at)
        select $1, gen_random_uuid(), n, 'address', $3, true, now() from generate_series(1, $2) as t (n)`;
      await database.pool.query(put, [runId, signals, payload]);
      const send = async (dedupeId: string) => {
        const init = json({ payload: { city: "Bonn" }, dedupeId });
        const response = await app.request(`/v1/runs/${runId}/signals/address`, init);
        return [response.status, await response.json()];
      };
      const take = () => database.pool.query("update layover.signal set position = 1 where run_id = $1", [runId]);
      return { send, take };
    };
    const refused = [429, { code: "too_many_signals", limit: 10_000, limitBytes: 16_777_216 }];
    const many = await full(9_999, "1null");
    expect(await many.send("last")).toMatchObject([202, { outcome: "sent" }]);
    expect(await many.send("more")).toMatchObject(refused);
    expect(await many.send("last")).toMatchObject([202, { outcome: "duplicate" }]);
    await many.take();
    expect(await many.send("more")).toMatchObject([202, { outcome: "sent" }]);
    const stored = '1{"city":"Bonn"}'.length;
    const large = await full(16, "x".repeat(1024 * 1024 - stored / 16));
    expect(await large.send("last")).toMatchObject([202, { outcome: "sent" }]);
    expect(await large.send("more")).toMatchObject(refused);
  });

  it("are refused with 409 where the run has closed their name, and what was sent before is sent", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const send = async (dedupeId: string) => {
      const init = json({ payload: { city: "Bonn" }, dedupeId });
      const response = await app.request(`/v1/runs/${runId}/signals/address`, init);
      return [response.status, await response.json()];
    };
    expect(await send("before")).toMatchObject([202, { outcome: "sent" }]);
    await database.pool.query("update layover.run_state set closed = '{address}' where run_id = $1", [runId]);
    expect(await send("after")).toMatchObject([409, { code: "signal_closed" }]);
    expect(await send("before")).toMatchObject([202, { outcome: "duplicate" }]);
  });

  it("tell by code why they were not taken", async () => {
    const { app, client, calls } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" }, { id: "o1" });
    const refused = async (path: string, body: unknown) => {
      const response = await app.request(path, json(body));
      return `${response.status} ${(await response.json()).code}`;
    };
    const payload = { city: "Bonn" };
    expect(await refused(`/v1/runs/${runId}/signals/adress`, { payload })).toBe("422 unknown_signal");
    expect(await refused(`/v1/runs/${runId}/signals/address`, { payload: 1 })).toBe("422 invalid_payload");
    expect(await refused(`/v1/runs/${runId}/signals/address`, payload)).toBe("400 invalid_request");
    expect(await refused(`/v1/runs/${runId}/signals/address`, { payload, dedupeId: "\u0000" })).toBe(
      "422 invalid_name",
    );
    expect(await refused("/v1/runs/nonsense/signals/address", { payload })).toBe("404 unknown_run");
    expect(await refused("/v1/workflows/order/ids/o9/signals/address", { payload })).toBe("404 unknown_run");
    expect(await refused("/v1/workflows/none/ids/o1/signals/address", { payload })).toBe("404 unknown_workflow");
    await carryOut(calls, { runId, workflow: "order" }, { completed: 1 });
    expect(await refused(`/v1/runs/${runId}/signals/address`, { payload })).toBe("409 run_over");
  });
});
