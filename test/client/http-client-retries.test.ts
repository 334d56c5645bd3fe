/** A request that got lost is sent again, until its attempts or its time are over, or an abort signal ends it. */
import { describe, expect, it } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { HostClock } from "../../src/core/ports.ts";
import type { Fault } from "../http/a-faulty-server.ts";
import { anApp, bare, order } from "../http/an-app.ts";
import { testDatabase } from "../postgres/database.ts";
import { aToken, remotesOn } from "./a-remote.ts";

const database = testDatabase();
const aRemote = remotesOn(database);

const signalsOf = async (runId: string) =>
  (await database.pool.query("select count(*)::int as n from layover.signal where run_id = $1", [runId])).rows[0].n;

const busy = () => new Response("<h1>busy</h1>", { status: 503, headers: { "content-type": "text/html" } });

describe("a request that got lost", () => {
  it.each<[string, () => Fault]>([
    ["before its answer", () => "lost"],
    ["in the midst of its answer", () => "cut"],
    ["at a gateway", busy],
  ])("%s is sent again: one run, new to whoever started it", async (how, fault) => {
    const { client, server, inProcess, dispatches } = await aRemote([fault()]);
    const tags = { lost: how };
    const run = await client.start(order, { id: "o1" }, { tags });
    expect(server.requests).toHaveLength(2);
    expect(run.isNew).toBe(true);
    expect((await inProcess.list({ tags })).runs.map(({ runId }) => runId)).toEqual([run.runId]);
    expect(dispatches.at(-1)).toEqual({ turns: [{ runId: run.runId, turn: 1 }], delayMs: 0 });
  });

  it("is sent again with the id that was given, and with the very same one each time", async () => {
    const { client } = await aRemote(["lost", "cut", busy()]);
    expect((await client.start(bare, undefined, { id: "thrice" })).isNew).toBe(true);
    expect((await client.start(bare, undefined, { id: "thrice" })).isNew).toBe(false);
  });

  it.each<[string, () => Fault]>([
    ["before its answer", () => "lost"],
    ["in the midst of its answer", () => "cut"],
    ["at a gateway", busy],
  ])("%s is sent again: one signal", async (_, fault) => {
    const { client, inProcess } = await aRemote([fault()]);
    const { runId } = await inProcess.start(order, { id: "o1" });
    expect(await client.run(order, runId).signal("address", { city: "Bonn" })).toEqual({ runId, outcome: "sent" });
    expect(await signalsOf(runId)).toBe(1);
  });

  it("is sent again: a callback's answer counts once", async () => {
    const { client, inProcess } = await aRemote(["lost", "cut"]);
    const token = await aToken(inProcess);
    await client.resolveCallback(token, { ok: true }, { contract: order });
    expect((await client.callback(token)).status).toBe("resolved");
  });

  it("is given up after five attempts, each a while after the one before", async () => {
    const { client, server, host } = await aRemote(["lost", "lost", "lost", "lost", "lost"]);
    await expect(client.list()).rejects.toMatchObject({
      name: "LayoverError",
      code: "unreachable",
      message: expect.stringContaining(`the API at ${server.url} did not answer: `),
      hint: expect.stringContaining("with the same ids nothing happens twice"),
    });
    expect(server.requests).toHaveLength(5);
    expect(host.pauses.map((ms, index) => ms <= 200 * 2 ** index)).toEqual([true, true, true, true]);
  });

  it("says why nobody could be reached", async () => {
    const { server } = await aRemote();
    const client = new HttpClient({ url: "http://127.0.0.1:1", retry: { maxAttempts: 1 } });
    await expect(client.list()).rejects.toThrow("the API at http://127.0.0.1:1 did not answer: ");
    expect(server.requests).toEqual([]);
  });

  it("is given up after its timeout", async () => {
    const { client } = await aRemote(["held"], { timeout: 20, retry: { maxAttempts: 1 } });
    await expect(client.list()).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("did not answer: after 20 ms"),
    });
  });

  it.each(["30 days", "3650 days"] as const)("may take %s, which is longer than a timer can", async (timeout) => {
    const { client } = await aRemote([], { timeout, retry: { maxAttempts: 1 } });
    expect(await client.list({ tags: { none: "such" } })).toEqual({ runs: [] });
  });
});

describe("an abort signal", () => {
  const enough = new Error("enough");

  it("ends a request that nobody answers, with its reason, and sends no other", async () => {
    const { client, server } = await aRemote(["held"], { retry: { maxAttempts: 1 } });
    const { runId } = await anApp(database.query).client.start(bare);
    const abort = new AbortController();
    const ending = client.waitForEnd(runId, { abortSignal: abort.signal });
    await server.arrival(1);
    abort.abort(enough);
    await expect(ending).rejects.toBe(enough);
    expect(server.requests).toHaveLength(1);
  });

  it("ends the pause before another attempt", async () => {
    const paused = Promise.withResolvers<void>();
    let ends = 0;
    const after: HostClock["after"] = () => {
      paused.resolve();
      return () => {
        ends += 1;
      };
    };
    const { client, server } = await aRemote([busy()], { host: { monotonic: () => 0, after } });
    const { runId } = await anApp(database.query).client.start(bare);
    const abort = new AbortController();
    const ending = client.waitForEnd(runId, { abortSignal: abort.signal });
    await paused.promise;
    abort.abort(enough);
    await expect(ending).rejects.toBe(enough);
    expect(ends).toBe(1);
    expect(server.requests).toHaveLength(1);
  });
});
