/** What a client over HTTP has beyond the verbs (test/client holds those to both): the wire, and what goes wrong on it. */
import { describe, expect, it } from "vitest";
import type { ApiOptions } from "../../src/client/over-http/api.ts";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { decode } from "../../src/core/codec/codec.ts";
import { LayoverError } from "../../src/core/errors.ts";
import type { HostClock } from "../../src/core/ports.ts";
import { problem } from "../../src/http/problem.ts";
import { aFaultyServer, type Fault } from "../http/a-faulty-server.ts";
import { aKey, anApp, anything, bare, order, orderV2 } from "../http/an-app.ts";
import { testDatabase } from "../postgres/database.ts";
import { aHastyHost, carryOut, sealCallback } from "./a-client.ts";

const database = testDatabase();
const apiKey = aKey();

/** An app, a server before it that spoils its first answers, and a client of that. */
async function aRemote(faults: readonly Fault[] = [], options: Partial<ApiOptions> = {}) {
  const test = anApp(database.query);
  const server = await aFaultyServer(test.app, faults);
  const host = aHastyHost();
  const client = new HttpClient({ url: server.url, apiKey, host, ...options });
  return { ...test, inProcess: test.client, server, host, client };
}

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

describe("an answer of something else", () => {
  it("is waited for again where a gateway asks for patience, a minute at most", async () => {
    const patience = (text: string) => new Response("", { status: 429, headers: { "retry-after": text } });
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    const { client, host } = await aRemote([patience("7"), patience(inAnHour), patience("soon")]);
    await client.list();
    const [seconds, date, none] = host.pauses;
    expect([7_000, 7_200]).toEqual([Math.min(7_000, Number(seconds)), Math.max(7_200, Number(seconds))]);
    expect(Math.floor(Number(date) / 1_000)).toBe(60);
    expect(Number(none)).toBeLessThanOrEqual(800);
  });

  it("that no patience helps against is told with its status", async () => {
    const page = () => new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } });
    const { client, server } = await aRemote([page(), page(), page(), page(), page()]);
    await expect(client.list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message: "the API answered 502 (text/html), which is none of layover's",
      details: { status: 502 },
    });
    expect(server.requests).toHaveLength(5);
  });

  it.each([
    [new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } }), "200 (text/html)"],
    [new Response("no", { status: 404, headers: { "content-type": "text/plain" } }), "404 (text/plain)"],
    [new Response(null, { status: 302, headers: { location: "https://example.com/" } }), "a redirect"],
  ])("is not asked for again where the url is wrong", async (response, what) => {
    const { client, server } = await aRemote([response]);
    await expect(client.list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message: `the API answered ${what}, which is none of layover's`,
      hint: expect.stringContaining("Look at the url"),
    });
    expect(server.requests).toHaveLength(1);
  });

  it("is asked for again where its text is damaged", async () => {
    const damaged = new Response("1{", { headers: { "content-type": "application/vnd.layover.value" } });
    const { client, server } = await aRemote([damaged]);
    expect(await client.list({ tags: { none: "such" } })).toEqual({ runs: [] });
    expect(server.requests).toHaveLength(2);
  });

  it("may be in a codec to come", async () => {
    const newer = () => new Response("2{}", { headers: { "content-type": "application/vnd.layover.value" } });
    const { client } = await aRemote([newer()], { retry: { maxAttempts: 1 } });
    await expect(client.list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message:
        "the API answered 200 (application/vnd.layover.value), and cannot be understood: " +
        'the answer cannot be read: its format "2" is unknown here',
    });
  });

  it("may be of a newer layover: its error keeps what it said", async () => {
    const body = {
      code: "run_petrified",
      detail: "the run is stone",
      hint: "Wait for spring.",
      runId: "r1",
      deep: [1],
    };
    const newer = Response.json(body, { status: 409, headers: { "content-type": "application/problem+json" } });
    const { client } = await aRemote([newer]);
    await expect(client.list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message: "the API answered 409 (application/problem+json), with the error run_petrified: the run is stone",
      hint: "Wait for spring.",
      details: { status: 409, runId: "r1" },
    });
  });

  it("may be of a server that speaks JSON, and is not layover", async () => {
    const { client, server } = await aRemote([Response.json({ runs: "a race" })]);
    await expect(client.list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message: "the API answered 200 (application/json), which is none of layover's",
    });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["deeper than any value", `1${"[".repeat(10_000)}${"]".repeat(10_000)}`, "nested more than"],
    ["with a number of too many digits", `1{"$":"bigint","v":"${"9".repeat(2 ** 20 + 1)}"}`, "its text is damaged"],
  ])("may be %s, which is not made a value", async (_, text, why) => {
    const answer = () => new Response(text, { headers: { "content-type": "application/vnd.layover.value" } });
    const { client } = await aRemote([answer()], { retry: { maxAttempts: 1 } });
    const error: unknown = await client.list().then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error).toMatchObject({ code: "unexpected_answer", message: expect.stringContaining(why) });
  });

  it("may never end, and is read so far only", async () => {
    let megabytes = 0;
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        megabytes += 1;
        controller.enqueue(new Uint8Array(2 ** 20).fill(0x20));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const fetch = async () => new Response(body, { headers: { "content-type": "application/vnd.layover.value" } });
    await expect(new HttpClient({ url: "http://test", apiKey, fetch }).list()).rejects.toMatchObject({
      code: "unexpected_answer",
      message: "the API answered 200 (application/vnd.layover.value), with more than 64 MiB",
    });
    expect({ isRead: megabytes < 70, isCancelled }).toEqual({ isRead: true, isCancelled: true });
  });
});

describe("an error of the server", () => {
  it("comes back as it was thrown", async () => {
    const thrown = new LayoverError("input_conflict", "the id is taken", {
      hint: "Take another.",
      details: { id: "x" },
    });
    const { client, server } = await aRemote([problem(thrown)]);
    const error: unknown = await client.start(bare).then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(LayoverError);
    expect(error).toEqual(thrown);
    expect(error).toMatchObject({ code: thrown.code, hint: thrown.hint, details: thrown.details });
    expect(server.requests).toHaveLength(1);
  });

  it("tells nothing of what went wrong inside, and is not tried again", async () => {
    const { client, server } = await aRemote([problem(new LayoverError("internal", "oh", { hint: "Later." }))]);
    await expect(client.list()).rejects.toMatchObject({ code: "internal", hint: "Later." });
    expect(server.requests).toHaveLength(1);
  });

  it("says what is wrong with the key, and with its scopes", async () => {
    const { server } = await aRemote();
    const listing = (options: Partial<ApiOptions>) => new HttpClient({ url: server.url, ...options }).list();
    await expect(listing({})).rejects.toMatchObject({ code: "unauthorized" });
    await expect(listing({ apiKey: `${apiKey}x` })).rejects.toMatchObject({ code: "unauthorized" });
    await expect(listing({ apiKey: aKey("start") })).rejects.toMatchObject({
      code: "forbidden",
      details: { scope: "read" },
    });
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

function tokenOf(runId: string): string {
  const place = { epoch: 0, path: "approval", occurrence: 0 };
  return sealCallback({ runId, ...place, workflow: "order", version: 1, name: "approval" }).token;
}

async function aToken(client: ReturnType<typeof anApp>["client"]): Promise<string> {
  const { runId } = await client.start(order, { id: "1" });
  return tokenOf(runId);
}
