import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { callbackTokenIn } from "../../src/client/callback-token.ts";
import { RunFailedError } from "../../src/client/run-failed-error.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { NonRetryableError } from "../../src/core/contract/user-errors.ts";
import { QueryError } from "../../src/core/ports.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { callbackOpener } from "../../src/http/callback-token.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type NodeOptions, type NodeServer, serve, serveNode } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { describeEachDatabase } from "./databases.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const key = createApiKey(new Secrets([secret]), { name: "test", namespace: "default", scopes });
const servers: NodeServer[] = [];
let logged: string[];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function aServer(options: Pick<NodeOptions, "database"> & Partial<NodeOptions>): Promise<NodeServer> {
  logged = [];
  const onLog: NodeOptions["onLog"] = ({ message, fields }) => logged.push(`${message} ${JSON.stringify(fields)}`);
  const server = await serve({ workflows: [askWorkflow], secrets: [secret], port: 0, onLog, ...options });
  servers.push(server);
  return server;
}

async function call(
  { url }: Pick<NodeServer, "url">,
  method: string,
  path: string,
  value?: unknown,
): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = value === undefined ? {} : { body: JSON.stringify(value) };
  const response = await fetch(`${url}${path}`, { method, headers, ...body });
  return { status: response.status, body: await response.json() };
}

const Started = z.object({ runId: z.string() });

const ask = workflow({
  name: "ask",
  version: 1,
  input: z.string(),
  output: z.string(),
  callbacks: { answer: z.string() },
});
const askWorkflow = ask.handler(async ({ input, step, log }) => {
  const answer = await step.waitForCallback("answer", ({ url }) => log.info(input, { url }));
  return await step.run("conclude", () => `${input} ${answer}`);
});

describeEachDatabase("a server of Node's", (database) => {
  test("lets the keys and callback links of its own environment in alone", async () => {
    const namespace = "named"; // a namespace is one environment's, and the other tests' is another's
    const server = await aServer({ database: database(), namespace, environment: "production" });
    const keyOf = (environment: string) =>
      createApiKey(new Secrets([secret]), { name: "test", namespace, environment, scopes });
    const ask = async (path: string, key: string, init: RequestInit = {}) =>
      await fetch(`${server.url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      });
    for (const [environment, status] of [
      ["production", 200],
      ["default", 200],
      ["staging", 401],
    ] as const) {
      expect((await ask("/v1/runs", keyOf(environment))).status).toBe(status);
    }
    const body = JSON.stringify({ input: "who?" });
    const started = await ask("/v1/workflows/ask/runs", keyOf("production"), { method: "POST", body });
    await expect.poll(() => logged.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const link = /https?:[^"]+/.exec(logged.at(-1) ?? "")?.[0] ?? "";
    const staging = callbackOpener({ secrets: new Secrets([secret]), namespace, environment: "staging" });
    expect(staging(callbackTokenIn(link))).toBeUndefined();
    expect((await call({ url: link }, "POST", "", "Ada")).status).toBe(200);
    const { runId } = Started.parse(await started.json());
    const ended = await ask(`/v1/runs/${runId}/result?wait=20s`, keyOf("production"));
    expect(await ended.json()).toMatchObject({ result: "who? Ada" });
  });

  test("asks the user's own session who calls, and then for an API key", async () => {
    const server = await aServer({
      database: database(),
      authenticate: ({ headers }) =>
        headers.get("cookie") === "session=s3cret" ? { name: "ada", scopes: ["read"] } : undefined,
    });
    const ask = async (method: string, path: string, headers: Record<string, string>) =>
      (await fetch(`${server.url}${path}`, { method, headers })).status;
    expect(await ask("GET", "/v1/runs", { cookie: "session=s3cret" })).toBe(200);
    expect(await ask("POST", "/v1/wake", { cookie: "session=s3cret" })).toBe(403);
    expect(await ask("GET", "/v1/runs", { cookie: "session=guessed" })).toBe(401);
    expect(await ask("GET", "/v1/runs", { authorization: `Bearer ${key}` })).toBe(200);
  });

  test.each(["", "/layover"])(
    "mounted at '%s' carries a run from a POST through its callback to its end",
    async (prefix) => {
      const server = await aServer({ database: database(), prefix });
      expect(new URL(server.url).pathname).toBe(prefix === "" ? "/" : prefix);
      const started = await call(server, "POST", "/v1/workflows/ask/runs", { input: "why?" });
      expect(started.status).toBe(201);
      const { runId } = Started.parse(started.body);
      await expect.poll(() => logged.length, { timeout: 10_000 }).toBe(1);
      const [, url = ""] = /"url":"([^"]+)"/.exec(logged[0] ?? "") ?? [];
      expect(url.startsWith(`${server.url}/callbacks/`)).toBe(true);
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '"because"',
      });
      expect(answer.status).toBe(200);
      const result = await call(server, "GET", `/v1/runs/${runId}/result?wait=10s`);
      expect(result).toMatchObject({ status: 200, body: { status: "completed", result: "why? because" } });
    },
  );
});

describe("a server of Node's", () => {
  const database = testDatabase();

  test("keeps nobody waiting when it is closed, and is gone then", async () => {
    const server = await aServer({ database: database.query });
    const { url, client } = server;
    const { runId } = await client.start(ask, "who?");
    const waiting = call(server, "GET", `/v1/runs/${runId}/result?wait=60s`);
    await expect.poll(() => logged.length, { timeout: 10_000 }).toBe(1);
    const began = performance.now();
    await Promise.all([expect(waiting).rejects.toThrow("fetch failed"), server.close()]);
    expect(performance.now() - began).toBeLessThan(5_000);
    await expect(fetch(`${url}/health`)).rejects.toThrow("fetch failed");
  });

  test("listens before it carries anything out, so not at all where the port is taken", async () => {
    const taken = createServer().listen(0);
    const address = taken.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    let statements = 0;
    const query = Object.assign(async () => [{ statements: ++statements }], { endpoint: "none" });
    await expect(aServer({ database: query, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(statements).toBe(0);
    taken.close();
  });

  test("that cannot begin leaves its port to others", async () => {
    const broken = Object.assign(() => Promise.reject(new Error("broken")), { endpoint: "none" });
    const port = await aServer({ database: database.query }).then(async (server) => {
      await server.close();
      return Number(new URL(server.url).port);
    });
    await expect(aServer({ database: broken, port })).rejects.toThrow("broken");
    await aServer({ database: database.query, port });
  });

  test.each(["", "x", "-1", "65536", 1.5])("refuses the port %j", async (port) => {
    await expect(aServer({ database: database.query, port })).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("is what serveNode answers, too: the name that the last release had", () => {
    expect(serveNode).toBe(serve);
  });

  test("refuses a secret that is weak or missing", async () => {
    await expect(aServer({ database: database.query, secrets: [undefined] })).rejects.toMatchObject({
      code: "invalid_secret",
    });
  });
});

describe("what a server of Node's tells", () => {
  const database = testDatabase();
  const refuse = workflow({ name: "refuse", version: 1 });
  const refuseWorkflow = refuse.handler(async ({ step }) => {
    await step.run("charge", () => {
      throw new NonRetryableError("card \u001b[2Jdeclined");
    });
  });
  const failOnce = async (options: Partial<NodeOptions>) => {
    const server = await aServer({ database: database.query, workflows: [refuseWorkflow], ...options });
    const run = await server.client.start(refuse);
    await expect(run.result({ wait: "10s" })).rejects.toThrow(RunFailedError);
    return run.runId.slice(-8);
  };
  const printed = () => vi.spyOn(console, "error").mockImplementation(() => {});

  test("is one line for what failed, which does nothing to the terminal, and none for what went well", async () => {
    using spy = printed();
    const id = await failOnce({});
    const lines = spy.mock.calls.map(([line]) => String(line).replace(/^\S+Z /, ""));
    expect(lines).toEqual([
      `warn refuse ${id}  step charge failed for good, at attempt 1: NonRetryableError: card \\u001b[2Jdeclined`,
      expect.stringContaining(`error refuse ${id}  the run failed: StepError: `),
    ]);
  });

  test("goes to onEvent alone, where there is one", async () => {
    using spy = printed();
    const kinds: string[] = [];
    await failOnce({ namespace: "told", onEvent: ({ kind }) => kinds.push(kind) });
    expect(kinds).toEqual(["step_exhausted", "run_failed"]);
    expect(spy).not.toHaveBeenCalled();
  });

  test("leaves out errors where onError takes them", async () => {
    using spy = printed();
    const errors: string[] = [];
    const broken = Object.assign(async () => Promise.reject(new QueryError("no way", { isRolledBack: true })), {
      endpoint: "none",
    });
    await aServer({ database: broken, onError: (error, doing) => errors.push(`${doing}: ${String(error)}`) });
    expect(errors).toEqual([expect.stringMatching(/^beginning: /)]);
    expect(spy).not.toHaveBeenCalled();
  });
});

describe("the reference deployment, functions/node.ts", () => {
  const database = testDatabase();
  const empty = testDatabase({ isEmpty: true });

  test.each([
    [
      "no database",
      () => "postgresql://nobody@127.0.0.1:1/none",
      /^layover cannot begin: the database cannot be used: .*ECONNREFUSED.*\n$/,
    ],
    [
      "a database that was not migrated",
      () => empty.url,
      /^layover cannot begin: The database lacks 0001_tables.*run migrate\.\n$/,
    ],
  ])("says in one line that there is %s, and ends", async (_, url, line) => {
    const child = spawn(process.execPath, ["--conditions=layover-source", "functions/node.ts"], {
      env: { ...process.env, DATABASE_URL: url(), PORT: "0", LAYOVER_SECRET: secret },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    expect(await once(child, "close")).toEqual([1, null]);
    expect(said).toMatch(line);
  });

  test("serves the order workflow on the database of its environment, until it is asked to end", async () => {
    const child = spawn(process.execPath, ["--conditions=layover-source", "functions/node.ts"], {
      env: { ...process.env, DATABASE_URL: database.url, PORT: "0", LAYOVER_SECRET: secret },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [line] = await once(child.stdout.setEncoding("utf8"), "data");
      const url = /^layover listens on (\S+)\n$/.exec(line)?.[1] ?? "";
      const input = { customer: "Ada", amount: 1, items: ["lamp"], address: { street: "1 Rose St", city: "London" } };
      const started = await call({ url }, "POST", "/v1/workflows/order/runs", { input });
      expect(started.status).toBe(201);
      const { runId } = Started.parse(started.body);
      const status = async () => (await call({ url }, "GET", `/v1/runs/${runId}`)).body;
      await expect.poll(status, { timeout: 20_000 }).toMatchObject({ status: "waiting" });
    } finally {
      child.kill("SIGTERM");
    }
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
