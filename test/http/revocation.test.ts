import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { Authenticate } from "../../src/http/access.ts";
import { createApiKey, openApiKey, scopes } from "../../src/http/api-key.ts";
import { namespace, sealCallback, secrets } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, anything, bare, json, order } from "./an-app.ts";

describe("a revoked API key", () => {
  const database = testDatabase();

  /** A client with a key of its own, of a process that remembers nothing. */
  function aCaller(authenticate?: Authenticate, apiKey = createApiKey(secrets, { name: "test", namespace, scopes })) {
    const test = anApp(database.query, { authenticate });
    const keyId = openApiKey(secrets, apiKey, { namespace })?.keyId ?? "";
    const fetch = async (url: string, init: RequestInit) => await test.app.request(url, init);
    return {
      ...test,
      apiKey,
      keyId,
      inProcess: test.client,
      client: new HttpClient({ url: "http://test", apiKey, fetch }),
    };
  }

  it("is refused by every verb, at no further statement, and nothing happens", async () => {
    const { client, calls, keyId, apiKey, inProcess } = aCaller();
    const { runId } = await client.start(order, { id: "1" }, { id: "before" });
    const verbs: Record<string, (client: HttpClient) => Promise<unknown>> = {
      start: (client) => client.start(bare, undefined, { id: "after" }),
      get: (client) => client.get(runId),
      runById: (client) => client.runById(order, "before"),
      list: (client) => client.list(),
      history: (client) => client.history(runId),
      result: (client) => client.result(runId, { wait: "10s" }),
      signal: (client) => client.signal(runId, "address", { city: "Bonn" }, { contract: order }),
      signalById: (client) => client.signal({ id: "before" }, "address", { city: "Bonn" }, { contract: order }),
      signalWithStart: (client) =>
        client.signalWithStart(order, "address", { city: "Bonn" }, { id: "before", input: { id: "1" } }),
      pause: (client) => client.pause(runId),
      resume: (client) => client.resume(runId),
      cancel: (client) => client.cancel(runId),
      terminate: (client) => client.terminate(runId),
      retry: (client) => client.retry(runId),
      restart: (client) => client.restart(runId),
      planRestart: (client) => client.planRestart(runId),
      fork: (client) => client.fork(runId),
      pauseRuns: (client) => client.pauseRuns({ workflow: "order" }),
      terminateRuns: (client) => client.terminateRuns({ workflow: "order" }, { callId: v7() }),
      delete: (client) => client.delete(runId),
      pauseWorkflow: (client) => client.pauseWorkflow("order"),
      resumeWorkflow: (client) => client.resumeWorkflow("order"),
      wake: (client) => client.wake(),
    };
    await calls.revokeKey({ keyId });
    for (const [name, verb] of Object.entries(verbs)) {
      const fresh = aCaller(undefined, apiKey);
      await fresh.calls.now();
      const before = fresh.statements.length;
      await expect(verb(fresh.client), name).rejects.toMatchObject({
        code: "unauthorized",
        message: "the API key was revoked",
        hint: expect.stringContaining("npx layover keys"),
      });
      expect(fresh.statements.length - before, name).toBe(1);
      expect([fresh.wakes.count, fresh.dispatches.length]).toEqual([0, 0]);
    }
    await expect(inProcess.runById(bare, "after")).rejects.toMatchObject({ code: "unknown_run" });
    expect((await inProcess.history(runId)).records).toEqual([]);
  });

  it("costs no statement once the process knows, and neither its body nor a schema is looked at", async () => {
    let parsed = 0;
    const input = z.unknown().transform(() => {
      parsed += 1;
    });
    const { app, calls, statements } = anApp(database.query, { contracts: [{ ...anything, input }] });
    const key = createApiKey(secrets, { name: "test", namespace, scopes: ["start", "read"] });
    const headers = { authorization: `Bearer ${key}` };
    await calls.revokeKey({ keyId: openApiKey(secrets, key, { namespace })?.keyId ?? "" });
    expect((await app.request("/v1/runs", { headers })).status).toBe(401);
    const before = statements.length;
    const request = new Request("http://test/v1/workflows/anything/runs", json({ input: 1 }, headers));
    const response = await app.request(request);
    expect([response.status, await response.json()]).toMatchObject([401, { detail: "the API key was revoked" }]);
    expect([statements.length - before, request.bodyUsed, parsed]).toEqual([0, false, 0]);
    const another = createApiKey(secrets, { name: "test", namespace, scopes: ["read"] });
    const other = await app.request("/v1/runs", { headers: { authorization: `Bearer ${another}` } });
    expect(other.status).toBe(200);
  });

  it("leaves other keys, the client in process and callers without a key as they were", async () => {
    const revoked = aCaller();
    await revoked.calls.revokeKey({ keyId: revoked.keyId });
    expect((await aCaller().client.start(bare)).isNew).toBe(true);
    expect((await revoked.inProcess.start(bare)).isNew).toBe(true);
    const bySession = aCaller(() => ({ name: "someone", scopes }));
    await bySession.calls.revokeKey({ keyId: bySession.keyId });
    await bySession.client.wake();
    expect(bySession.wakes.count).toBe(1);
  });

  it("is a 401 with a challenge, as for a key that never counted", async () => {
    const { app, calls, errors } = anApp(database.query);
    const key = createApiKey(secrets, { name: "test", namespace, scopes });
    await calls.revokeKey({ keyId: openApiKey(secrets, key, { namespace })?.keyId ?? "" });
    const response = await app.request("/v1/runs", { headers: { authorization: `Bearer ${key}` } });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="layover"']);
    expect(errors).toEqual([]);
  });
});

describe("a client in the hands of a key", () => {
  const database = testDatabase();

  it("shares the database's time and the alarms with the one that it came from", async () => {
    const { client, calls, statements, armed } = anApp(database.query);
    await client.start(bare);
    const [sent, rung] = [statements.length, armed.length];
    await client.by(crypto.randomUUID()).start(bare);
    expect(calls.by("k").clock).toBe(calls.clock);
    expect(statements.length - sent).toBe(1);
    expect(armed.length - rung).toBeLessThanOrEqual(1);
  });

  it("neither sees nor answers a callback once the key is revoked, and without a key its link still does", async () => {
    const { client, calls } = anApp(database.query);
    const { runId } = await client.start(order, { id: "1" });
    const place = { runId, epoch: 0, path: "approval", occurrence: 1 };
    const { url } = sealCallback({ ...place, workflow: "order", version: 1, name: "approval" });
    const keyId = crypto.randomUUID();
    await calls.revokeKey({ keyId });
    const theirs = client.by(keyId);
    const refused = { code: "unauthorized", message: "the API key was revoked" };
    await expect(theirs.callback(url)).rejects.toMatchObject(refused);
    await expect(theirs.resolveCallback(url, { ok: true }, { contract: order })).rejects.toMatchObject(refused);
    await expect(theirs.rejectCallback(url, { message: "no" })).rejects.toMatchObject(refused);
    expect(await client.callback(url)).toMatchObject({ status: "open" });
    await client.resolveCallback(url, { ok: true }, { contract: order });
    expect(await client.callback(url)).toMatchObject({ status: "resolved" });
  });
});
