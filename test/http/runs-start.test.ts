/** A run that is started over HTTP: what its request may say, what it is answered, and when the answer waits. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/http/api-key.ts";
import { aHastyHost, carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, bare, json, order, orderV2 } from "./an-app.ts";

const uuid = /^[0-9a-f-]{36}$/;

describe("POST /v1/workflows/:name/runs", () => {
  const database = testDatabase();

  it("starts a run: 201 and where it is", async () => {
    const { app, client, dispatches } = anApp(database.query);
    const response = await app.request(
      "/v1/workflows/order/runs",
      json({ input: { id: "o1" }, tags: { customer: "c1" } }),
    );
    expect(response.status).toBe(201);
    const body = await response.json();
    expect(body).toEqual({ runId: expect.stringMatching(uuid), workflow: "order", version: 1, isNew: true });
    const location = new URL(response.headers.get("location") ?? "", "http://localhost/v1/workflows/order/runs");
    expect(location.pathname).toBe(`/v1/runs/${body.runId}`);
    expect(await client.get(body.runId)).toMatchObject({ input: { id: "o1", amount: 1 }, tags: { customer: "c1" } });
    expect(dispatches).toHaveLength(1);
  });

  it("answers 200 for the id and input of a run that is there, and 422 for another input", async () => {
    const { app } = anApp(database.query);
    const start = (body: unknown) => app.request("/v1/workflows/order/runs", json(body));
    const first = await (await start({ input: { id: "x" }, id: "there" })).json();
    const again = await start({ input: { id: "x" }, id: "there" });
    expect([again.status, await again.json()]).toEqual([200, { ...first, isNew: false }]);
    const other = await start({ input: { id: "y" }, id: "there" });
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ code: "input_conflict", runId: first.runId });
  });

  it("takes the Idempotency-Key as id where the body names none", async () => {
    const { app, client } = anApp(database.query);
    const start = async (key: string, body: object) =>
      (
        await app.request(
          "/v1/workflows/order/runs",
          json({ input: { id: "x" }, ...body }, { ...authorized, "idempotency-key": key }),
        )
      ).json();
    const quoted = await start('"key-1"', {});
    expect((await client.get(quoted.runId)).id).toBe("key-1");
    expect(await start("key-1", {})).toMatchObject({ runId: quoted.runId, isNew: false });
    expect(await start("key-1", { id: "mine" })).toMatchObject({ id: "mine", isNew: true });
    const inUtf8 = Buffer.from("Schlüssel-1").toString("latin1");
    expect(await start(inUtf8, {})).toMatchObject({ id: "Schlüssel-1" });
    expect(await start("Schl\u00fcssel-2", {})).toMatchObject({ id: "Schlüssel-2" });
  });

  it("takes a delay, a date, a version and a trace context", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { app, client } = anApp(database.query, { contracts: [order, orderV2] });
    const start = async (body: object) =>
      (
        await app.request(
          "/v1/workflows/order/runs",
          json({ input: { id: "x" }, ...body }, { ...authorized, traceparent }),
        )
      ).json();
    const delayed = await client.get((await start({ delay: "3 days", version: 1 })).runId);
    expect(delayed).toMatchObject({ version: 1, status: "sleeping", input: { amount: 1 } });
    const dated = await client.get((await start({ startAt: "2030-01-01T00:00:00+01:00", delay: null })).runId);
    expect(dated).toMatchObject({ version: 2, readyAt: new Date("2029-12-31T23:00:00Z"), input: { amount: 2 } });
    const { rows } = await database.pool.query("select traceparent from layover.run where id = $1", [dated.runId]);
    expect(rows).toEqual([{ traceparent }]);
  });

  it("waits for the result when it is asked to", async () => {
    const { app, calls } = anApp(database.query);
    const answer = app.request("/v1/workflows/bare/runs?wait=30s", json({ id: "waited", input: null }));
    for (;;) {
      const { rows } = await database.pool.query("select id from layover.run where user_id = 'waited'");
      if (rows[0] === undefined) continue;
      await carryOut(calls, { runId: rows[0].id, workflow: "bare" }, { completed: new Map([["a", 1n]]) });
      break;
    }
    const response = await answer;
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({
      id: "waited",
      status: "completed",
      result: [["a", "1"]],
      isNew: true,
    });
  });

  it("waits for a minute at most", async () => {
    const host = aHastyHost();
    const { app } = anApp(database.query, {}, { host });
    const response = await app.request("/v1/workflows/bare/runs?wait=1h", { method: "POST", headers: authorized });
    expect([response.status, await response.json()]).toMatchObject([201, { status: "queued" }]);
    expect(host.monotonic()).toBe(60_000);
  });

  it("waits only for who may read: the answer holds the result", async () => {
    const { app, client } = anApp(database.query);
    const start = (query: string, ...scopes: Scope[]) => {
      const headers = { authorization: `Bearer ${aKey(...scopes)}` };
      return app.request(`/v1/workflows/bare/runs${query}`, json({ id: "theirs" }, headers));
    };
    const refused = await start("?wait=0s", "start");
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: "forbidden", scope: "read" }]);
    await expect(client.runById(bare, "theirs")).rejects.toMatchObject({ code: "unknown_run" });
    expect((await start("", "start")).status).toBe(201);
    expect((await start("?wait=0s", "read")).status).toBe(403);
    expect((await start("?wait=0s", "start", "read")).status).toBe(200);
  });

  it("refuses a runId of a time to come", async () => {
    const { app, client } = anApp(database.query);
    const day = 24 * 60 * 60 * 1_000;
    const runId = v7({ msecs: Date.now() + day + 60_000 });
    const response = await app.request("/v1/workflows/bare/runs", json({ runId }));
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_request", field: "runId" }]);
    await expect(client.get(runId)).rejects.toMatchObject({ code: "unknown_run" });
    expect((await app.request("/v1/workflows/bare/runs", json({ runId: v7() }))).status).toBe(201);
  });

  it("needs no body where the workflow needs no input", async () => {
    const { app } = anApp(database.query);
    const response = await app.request("/v1/workflows/bare/runs", { method: "POST", headers: authorized });
    expect(response.status).toBe(201);
  });

  it("names the field that is wrong and what is expected", async () => {
    const { app } = anApp(database.query, { contracts: [order, orderV2, bare] });
    const refused = async (body: unknown, name = "order") => {
      const response = await app.request(`/v1/workflows/${name}/runs`, json(body));
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      return response.json();
    };
    expect(await refused({ id: "x" })).toEqual({
      type: "urn:layover:error:invalid_input",
      title: "Invalid input",
      status: 422,
      detail:
        'the input of workflow "order" does not fit its schema: Invalid input: expected object, received undefined',
      code: "invalid_input",
      hint: "Give a value that fits the schema in the workflow's contract.",
      issues: 1,
      path: "",
    });
    expect(await refused({ amount: 1 })).toMatchObject({
      status: 400,
      code: "invalid_request",
      field: "amount",
      detail: "amount is not a field of this request",
      hint: "The fields are input, id, delay, startAt, tags, version, runId.",
    });
    const input = { id: "x" };
    expect(await refused([])).toMatchObject({ code: "invalid_request", detail: "the body is not an object" });
    expect(await refused({ input, id: 7 })).toMatchObject({ field: "id", detail: "id is a number, not a text" });
    expect(await refused({ input, tags: { a: 1 } })).toMatchObject({ field: "tags" });
    expect(await refused({ input, startAt: "2030-01-01T00:00" })).toMatchObject({ field: "startAt" });
    expect(await refused({ input, startAt: "2030-99-01T00:00:00Z" })).toMatchObject({ field: "startAt" });
    expect(await refused({ input, delay: "soon" })).toMatchObject({ code: "invalid_duration", field: "delay" });
    expect(await refused({ input, version: 3 })).toMatchObject({
      status: 404,
      code: "unknown_workflow",
      field: "version",
    });
    expect(await refused({}, "oder")).toMatchObject({
      status: 404,
      detail: 'there is no workflow "oder" here',
      hint: 'The workflows here are "order", "bare".',
    });
    expect(await refused({ input: 5 }, "bare")).toMatchObject({ code: "invalid_input", status: 422 });
  });
});
