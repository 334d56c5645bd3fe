/**
 * What a client over HTTP has beyond the verbs (test/client holds those to both): what it sends, how often it asks, and
 * what it refuses to send.
 */
import { describe, expect, it } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { decode } from "../../src/core/codec/codec.ts";
import { anApp, anything, bare, order, orderV2 } from "../http/an-app.ts";
import { testDatabase } from "../postgres/database.ts";
import { aHastyHost, carryOut } from "./a-client.ts";
import { apiKey, aToken, remotesOn, tokenOf } from "./a-remote.ts";

const database = testDatabase();
const aRemote = remotesOn(database);

describe("result", () => {
  it("asks once where it must not wait", async () => {
    const { client, server, inProcess } = await aRemote();
    const { runId } = await inProcess.start(bare);
    await expect(client.result(runId, { wait: 0 })).rejects.toMatchObject({ name: "TimeoutError" });
    expect(server.requests.map(({ path }) => path)).toEqual([`/v1/runs/${runId}/result?wait=0ms`]);
  });

  it("is not asked for again when its wait is over", async () => {
    const patience = () => new Response("", { status: 503, headers: { "retry-after": "7" } });
    const { client, server, host, inProcess } = await aRemote([patience(), patience(), patience()]);
    const { runId } = await inProcess.start(bare);
    await expect(client.result(runId, { wait: "10s" })).rejects.toMatchObject({ code: "unexpected_answer" });
    expect(server.requests).toHaveLength(2);
    expect(host.monotonic()).toBeLessThan(10_000);
  });

  it("is answered by the request that waits for it", async () => {
    const { client, server, inProcess, calls } = await aRemote();
    const { runId } = await inProcess.start(bare);
    const result = client.run(bare, runId).result();
    await server.arrival(1);
    await carryOut(calls, { runId, workflow: "bare" }, { completed: new Map([[new Date(0), 2n ** 70n]]) });
    expect(await result).toEqual(new Map([[new Date(0), 2n ** 70n]]));
    expect(server.requests.map(({ path }) => path)).toEqual([`/v1/runs/${runId}/result?wait=25000ms`]);
  });

  it("costs a request now and then where it takes long", async () => {
    const host = aHastyHost();
    const test = anApp(database.query, {}, { host });
    const asked: string[] = [];
    const fetch = async (url: string, init: RequestInit) => {
      asked.push(new URL(url).search);
      return await test.app.request(url, init);
    };
    const { runId } = await test.client.start(bare);
    const client = new HttpClient({ url: "http://test", apiKey, fetch, host });
    await expect(client.result(runId, { wait: "1 hour" })).rejects.toMatchObject({ name: "TimeoutError" });
    expect(asked.slice(0, 3)).toEqual(["?wait=25000ms", "?wait=0ms", "?wait=0ms"]);
    expect(host.monotonic()).toBe(3_600_000);
    expect(asked.length).toBeLessThan(80);
  });
});

describe("a signal", () => {
  it("takes one statement, and is not one of another workflow's run", async () => {
    const { client, inProcess, statements } = await aRemote();
    const { runId } = await inProcess.start(order, { id: "1" });
    const before = statements.length;
    await client.run(order, runId).signal("address", { city: "Bonn" });
    expect(statements.length - before).toBe(1);
  });

  it("is checked by the version of the run, which is asked for where there are several", async () => {
    const { app, client: inProcess } = anApp(database.query, { contracts: [order, orderV2, anything] });
    const fetch = async (url: string, init: RequestInit) => await app.request(url, init);
    const client = new HttpClient({ url: "http://test", apiKey, fetch });
    const { runId } = await inProcess.start(order, { id: "1" });
    expect(await client.run(orderV2, runId).signal("address", { city: "Bonn", zip: "1" })).toMatchObject({ runId });
    const other = await inProcess.start(anything, 1);
    await expect(client.run(order, other.runId).signal("address", { city: "Bonn" })).rejects.toMatchObject({
      code: "unknown_run",
    });
  });
});

describe("names and ids", () => {
  it.each(["mine/100% ü", "a?b#c", "%2F", "a b", "..."])("travel in a path: %s", async (id) => {
    const { client, inProcess } = await aRemote();
    const { runId } = await inProcess.start(order, { id: "1" }, { id });
    expect((await client.runById(order, id)).runId).toBe(runId);
    expect(await client.signal({ id }, "address", { city: "Bonn" }, { contract: order })).toMatchObject({ runId });
  });

  it("are refused where no URL can carry them", async () => {
    const { client, server } = await aRemote();
    for (const id of [".", "..", "", "\u0000", "\ud800", "x".repeat(201)]) {
      await expect(client.runById(order, id)).rejects.toMatchObject({ code: "invalid_name" });
    }
    expect(server.requests).toEqual([]);
  });

  it("are found by tags with any signs in them", async () => {
    const { client, inProcess } = await aRemote();
    const tags = { "a:b": "c:d", "100%": "&=", "%3A": "x" };
    const { runId } = await inProcess.start(bare, undefined, { tags });
    await inProcess.start(bare, undefined, { tags: { a: "b:c:d" } });
    expect((await client.list({ tags })).runs.map((run) => run.runId)).toEqual([runId]);
  });
});

describe("a callback", () => {
  it("is answered without the API key, by its token or its URL, at this client's own address", async () => {
    const { client, server, inProcess } = await aRemote();
    const token = await aToken(inProcess);
    const url = `https://elsewhere.example/layover/callbacks/${token}?from=mail#top`;
    expect(await client.callback(url)).toMatchObject({ name: "approval", status: "open" });
    await client.resolveCallback(url, { ok: true }, { contract: order });
    await expect(client.rejectCallback(token, "no")).rejects.toMatchObject({ code: "callback_conflict" });
    expect(server.requests).toEqual([
      { path: `/callbacks/${token}`, authorization: undefined },
      { path: `/callbacks/${token}`, authorization: undefined },
      { path: `/callbacks/${token}/reject`, authorization: undefined },
    ]);
  });

  it("that can be none is not asked for", async () => {
    const { client, server } = await aRemote();
    for (const token of ["", ".", "..", "a/b", "a.b?c", "https://example.com/"]) {
      await expect(client.callback(token)).rejects.toMatchObject({ code: "unknown_callback" });
    }
    expect(server.requests).toEqual([]);
  });

  it("is rejected with all that an error says", async () => {
    const { client, inProcess, calls } = await aRemote();
    const { runId } = await inProcess.start(order, { id: "1" });
    const token = tokenOf(runId);
    await carryOut(calls, { runId, workflow: "order" }, { waitsFor: [{ kind: "callback", path: "approval" }] });
    const reason = Object.assign(new TypeError("closed", { cause: new Error("holiday") }), { code: "E1", until: 1n });
    await client.rejectCallback(token, reason);
    const { callbacks } = await carryOut(calls, { runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(decode(callbacks?.[0]?.value ?? "")).toMatchObject({
      name: "TypeError",
      message: "closed",
      code: "E1",
      data: { until: 1n },
      cause: { message: "holiday" },
    });
  });
});

describe("a client", () => {
  it("is refused a url or a key that is none, without showing the key", async () => {
    for (const url of [
      "",
      "/layover",
      "ftp://example.com",
      "https://a:b@example.com",
      "https://example.com/?a",
      "x y",
    ]) {
      expect(() => new HttpClient({ url })).toThrow(expect.objectContaining({ code: "invalid_request" }));
    }
    const refused = expect.objectContaining({ code: "invalid_request", message: expect.not.stringContaining("lok_") });
    for (const key of ["", "lok_a\n", "lok_ä", "Bearer lok_a"]) {
      expect(() => new HttpClient({ url: "https://example.com", apiKey: key })).toThrow(refused);
    }
    expect(() => new HttpClient({ url: "https://example.com", retry: { maxAttempts: 0 } })).toThrow(
      expect.objectContaining({ code: "invalid_retry" }),
    );
  });

  it("starts the version that its contract is of", async () => {
    const { app } = anApp(database.query, { contracts: [order, orderV2] });
    const client = new HttpClient({
      url: "http://test",
      apiKey,
      fetch: async (...request) => await app.request(...request),
    });
    expect(await (await client.start(order, { id: "v" })).get()).toMatchObject({ version: 1, input: { amount: 1 } });
    expect(await (await client.start(orderV2, { id: "v" })).get()).toMatchObject({ version: 2, input: { amount: 2 } });
  });

  it("sends nothing that cannot be stored", async () => {
    const { client, server } = await aRemote();
    await expect(client.start(anything, { act: () => 1 })).rejects.toMatchObject({
      code: "unstorable_value",
      message: "the request cannot be stored: $.input.act is a function",
    });
    expect(server.requests).toEqual([]);
  });
});
