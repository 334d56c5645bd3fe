import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/http/api-key.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, json, order, orderV2 } from "./an-app.ts";

describe("POST /v1/workflows/:name/signals/:signal", () => {
  const database = testDatabase();
  const path = "/v1/workflows/order/signals/address";
  const payload = { city: "Bonn" };
  const input = { id: "x" };

  it("starts the run unless it is there, and sends it the signal: 201 or 202, and where it is", async () => {
    const { app, client } = anApp(database.query);
    const send = (body: object) => app.request(path, json({ id: "o1", input, payload, ...body }));
    const first = await send({ tags: { customer: "c1" } });
    const { runId, ...started } = await first.json();
    expect([first.status, started]).toEqual([
      201,
      { workflow: "order", version: 1, id: "o1", isNew: true, outcome: "sent" },
    ]);
    const location = new URL(first.headers.get("location") ?? "", `http://localhost${path}`);
    expect(location.pathname).toBe(`/v1/runs/${runId}`);
    const second = await send({ dedupeId: "d", input: { id: "other" } });
    expect([second.status, await second.json()]).toEqual([
      202,
      { runId, workflow: "order", id: "o1", isNew: false, outcome: "sent" },
    ]);
    expect(await (await send({ dedupeId: "d" })).json()).toMatchObject({ runId, version: 1, outcome: "duplicate" });
    expect(await client.get(runId)).toMatchObject({ input: { id: "x", amount: 1 }, untaken: { address: 2 } });
  });

  it("takes the Idempotency-Key as the run's id, so each signal needs an id of its own", async () => {
    const { app, client } = anApp(database.query);
    const send = async (signalId: string) => {
      const init = json({ input, payload, signalId }, { ...authorized, "idempotency-key": '"key-1"' });
      return await (await app.request(path, init)).json();
    };
    const signalIds = [crypto.randomUUID(), crypto.randomUUID()] as const;
    const { runId } = await send(signalIds[0]);
    for (const signalId of signalIds)
      expect(await send(signalId)).toMatchObject({ runId, id: "key-1", outcome: "sent" });
    expect(await client.get(runId)).toMatchObject({ id: "key-1", untaken: { address: 2 } });
  });

  it("takes the newest version, or the one that is named, for the start and for the payload", async () => {
    const { app } = anApp(database.query, { contracts: [order, orderV2] });
    const send = async (body: object) => await (await app.request(path, json({ input, payload, ...body }))).json();
    expect(await send({ id: "v2" })).toMatchObject({ code: "invalid_payload" });
    expect(await send({ id: "v2", payload: { city: "Bonn", zip: "53111" } })).toMatchObject({ version: 2 });
    expect(await send({ id: "v1", version: 1 })).toMatchObject({ version: 1 });
  });

  it("is for keys with the scopes start and signal, both, and asks the database nothing for others", async () => {
    const { app, statements } = anApp(database.query);
    const send = async (...scopes: Scope[]) => {
      const headers = { authorization: `Bearer ${aKey(...scopes)}` };
      const response = await app.request(path, json({ id: "scoped", input, payload }, headers));
      return [response.status, (await response.json()).scope];
    };
    expect(await send("start", "read", "admin")).toEqual([403, "signal"]);
    expect(await send("signal", "read", "admin")).toEqual([403, "start"]);
    expect(statements).toEqual([]);
    expect(await send("start", "signal")).toEqual([201, undefined]);
  });

  it("tells by code why nothing was done", async () => {
    const { app, client, calls } = anApp(database.query);
    const refused = async (body: object, at = path) => {
      const response = await app.request(at, json({ id: "o2", input, payload, ...body }));
      return `${response.status} ${(await response.json()).code}`;
    };
    expect(await refused({ id: undefined })).toBe("422 invalid_name");
    expect(await refused({ input: {} })).toBe("422 invalid_input");
    expect(await refused({ payload: {} })).toBe("422 invalid_payload");
    expect(await refused({ who: "ada" })).toBe("400 invalid_request");
    expect(await refused({}, "/v1/workflows/order/signals/adress")).toBe("422 unknown_signal");
    expect(await refused({}, "/v1/workflows/none/signals/address")).toBe("404 unknown_workflow");
    await expect(client.runById(order, "o2")).rejects.toMatchObject({ code: "unknown_run" });
    const { runId } = await client.start(order, input, { id: "o2" });
    await calls.operate("terminate", { runId, callId: crypto.randomUUID() });
    expect(await refused({})).toBe("409 run_over");
  });
});
