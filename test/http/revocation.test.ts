import { describe, expect, it } from "vitest";
import type { Authenticate } from "../../src/http/access.ts";
import { createApiKey, openApiKey, scopes } from "../../src/http/api-key.ts";
import { HttpClient } from "../../src/http/http-client.ts";
import { namespace, secrets } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, bare, order } from "./an-app.ts";

describe("a revoked API key", () => {
  const database = testDatabase();

  /** A client with a key of its own. */
  function aCaller(authenticate?: Authenticate) {
    const test = anApp(database.query, { authenticate });
    const apiKey = createApiKey(secrets, { name: "test", namespace, scopes });
    const keyId = openApiKey(secrets, apiKey, { namespace })?.keyId ?? "";
    const fetch = async (url: string, init: RequestInit) => await test.app.request(url, init);
    return { ...test, keyId, inProcess: test.client, client: new HttpClient({ url: "http://test", apiKey, fetch }) };
  }

  it("is refused by every verb, at no further statement, and nothing happens", async () => {
    const { client, calls, keyId, inProcess, statements, wakes, dispatches } = aCaller();
    const run = await client.start(order, { id: "1" }, { id: "before" });
    const verbs: Record<string, () => Promise<unknown>> = {
      start: () => client.start(bare, undefined, { id: "after" }),
      get: () => run.get(),
      runById: () => client.runById(order, "before"),
      list: () => client.list(),
      history: () => run.history(),
      result: () => run.result({ wait: "10s" }),
      signal: () => run.signal("address", { city: "Bonn" }),
      signalById: () => client.signal({ id: "before" }, "address", { city: "Bonn" }, { contract: order }),
      wake: () => client.wake(),
    };
    await calls.revokeKey({ keyId });
    dispatches.length = 0;
    for (const [name, verb] of Object.entries(verbs)) {
      const before = statements.length;
      await expect(verb(), name).rejects.toMatchObject({
        code: "unauthorized",
        message: "the API key was revoked",
        hint: expect.stringContaining("npx layover keys"),
      });
      expect(statements.length - before, name).toBe(1);
    }
    await expect(inProcess.runById(bare, "after")).rejects.toMatchObject({ code: "unknown_run" });
    expect([wakes.count, dispatches.length]).toEqual([0, 0]);
    expect((await inProcess.history(run.runId)).records).toEqual([]);
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
});
