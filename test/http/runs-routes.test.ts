/** What holds of every route: its prefix, its key, its methods, and what it says of a mistake inside. */
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { aHastyHost } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, json } from "./an-app.ts";

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
