import { Hono } from "hono";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
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

describe("the app", () => {
  const database = testDatabase();

  it("works under any prefix of another app, which keeps its own routes and errors", async () => {
    const { app } = anApp(database.query);
    for (const parent of [new Hono().route("/deep/layover", app), new Hono().mount("/deep/layover", app.fetch)]) {
      parent.get("/mine", (context) => context.text("mine"));
      const started = await parent.request("/deep/layover/v1/workflows/bare/runs", json({}));
      expect(started.status).toBe(201);
      const location = new URL(
        started.headers.get("location") ?? "",
        "http://localhost/deep/layover/v1/workflows/bare/runs",
      );
      expect((await parent.request(location.pathname, { headers: authorized })).status).toBe(200);
      const refused = await parent.request("/deep/layover/v1/workflows/none/runs", json({}));
      expect(refused.headers.get("content-type")).toBe("application/problem+json");
      expect(await (await parent.request("/mine")).text()).toBe("mine");
      expect((await parent.request("/deep/layover/health")).status).toBe(200);
    }
  });

  it("answers GET /health without asking the database", async () => {
    const { app, statements } = anApp(database.query);
    const response = await app.request("/health");
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
    expect((await app.request("/health", { method: "HEAD" })).status).toBe(200);
    expect(statements).toEqual([]);
  });

  it("POST /v1/wake has a tick happen", async () => {
    const { app, wakes } = anApp(database.query);
    const response = await app.request("/v1/wake", { method: "POST", headers: authorized });
    expect([response.status, await response.json(), wakes.count]).toEqual([200, { outcome: "woken" }, 1]);
  });

  it("asks for a key of the right scope before it reads anything or asks the database", async () => {
    const { app, statements } = anApp(database.query);
    const runId = "0190a1b2-0000-7000-8000-000000000000";
    const routes = [
      ["start", "POST", "/v1/workflows/order/runs"],
      ["read", "GET", "/v1/runs"],
      ["read", "GET", `/v1/runs/${runId}`],
      ["read", "HEAD", `/v1/runs/${runId}`],
      ["read", "GET", `/v1/runs/${runId}/history`],
      ["read", "GET", `/v1/runs/${runId}/result`],
      ["signal", "POST", `/v1/runs/${runId}/signals/address`],
      ["signal", "POST", "/v1/workflows/order/ids/o1/signals/address"],
      ["admin", "POST", "/v1/wake"],
    ] as const;
    const others = { start: "read", read: "start", signal: "admin", admin: "signal" } as const;
    for (const [scope, method, path] of routes) {
      const unreadable =
        method === "POST"
          ? { body: new ReadableStream({ pull: () => expect.unreachable() }, { highWaterMark: 0 }), duplex: "half" }
          : {};
      const ask = (headers: Record<string, string>) =>
        app.request(path, { method, headers, ...unreadable } as RequestInit);
      const none = await ask({});
      expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="layover"']);
      expect((await ask({ authorization: "Bearer lok_e30.forged" })).status).toBe(401);
      expect((await ask({ authorization: `Basic ${aKey(scope)}` })).status).toBe(401);
      const wrong = await ask({ authorization: `Bearer ${aKey(others[scope])}` });
      expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([
        403,
        `Bearer realm="layover", error="insufficient_scope", scope="${scope}"`,
      ]);
    }
    expect(statements).toEqual([]);
    expect(await (await app.request("/v1/runs")).json()).toMatchObject({ code: "unauthorized", status: 401 });
  });

  it("asks the host's own authentication where it has one", async () => {
    const authenticate = (request: Request) =>
      request.headers.get("x-user") === "anna" ? { name: "anna", scopes: ["read" as const] } : undefined;
    const { app } = anApp(database.query, { authenticate });
    expect((await app.request("/v1/runs", { headers: { "x-user": "anna" } })).status).toBe(200);
    expect((await app.request("/v1/runs", { headers: authorized })).status).toBe(401);
    expect((await app.request("/v1/wake", { method: "POST", headers: { "x-user": "anna" } })).status).toBe(403);
  });

  it("answers 405 with Allow for another method, and 404 beyond its routes", async () => {
    const { app, statements } = anApp(database.query);
    const wrong = async (method: string, path: string) => {
      const response = await app.request(path, { method, headers: authorized });
      return [response.status, response.headers.get("allow"), method === "HEAD" ? "" : (await response.json()).code];
    };
    expect(await wrong("DELETE", "/v1/runs")).toEqual([405, "GET, HEAD", "method_not_allowed"]);
    expect(await wrong("GET", "/v1/workflows/order/runs")).toEqual([405, "POST", "method_not_allowed"]);
    expect(await wrong("PUT", "/callbacks/token")).toEqual([405, "GET, HEAD, POST", "method_not_allowed"]);
    expect(await wrong("OPTIONS", "/v1/wake")).toEqual([405, "POST", "method_not_allowed"]);
    expect(await wrong("GET", "/v1")).toEqual([404, null, "not_found"]);
    expect(await wrong("POST", "/v1/runs/x/undo")).toEqual([404, null, "not_found"]);
    expect(statements).toEqual([]);
  });

  it("says 503 and when to come back while the database is away, and nothing of the inside", async () => {
    const away = Object.assign(
      async () => {
        throw new QueryError("connect ECONNREFUSED 10.0.0.7:5432 password=hunter2", { isRolledBack: true });
      },
      { endpoint: "nowhere" },
    );
    const { app, errors } = anApp(away, {}, { host: aHastyHost() });
    const response = await app.request("/v1/workflows/bare/runs", json({}));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: "database_unavailable" });
    expect(text).not.toContain("hunter2");
    expect(errors).toMatchObject([{ cause: { message: expect.stringContaining("hunter2") } }]);
  });

  it.each([
    ["42501", 'permission denied for table "run"'],
    ["3F000", 'schema "layover" does not exist'],
  ])("says nothing of what else goes wrong inside, and tells the operator (%s)", async (sqlState, message) => {
    const broken = Object.assign(
      async () => {
        throw new QueryError(message, { isRolledBack: true, sqlState });
      },
      { endpoint: "nowhere" },
    );
    const { app, errors } = anApp(broken);
    const response = await app.request("/v1/runs", { headers: authorized });
    const problem = {
      code: "internal",
      detail: "something went wrong inside",
      hint: expect.not.stringContaining("migrate"),
    };
    expect([response.status, await response.json()]).toMatchObject([500, problem]);
    expect(errors).toHaveLength(1);
  });
});
