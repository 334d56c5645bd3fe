/** What a client over HTTP makes of an answer that is an error, or that is none of layover. */
import { describe, expect, it } from "vitest";
import type { ApiOptions } from "../../src/client/over-http/api.ts";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { LayoverError } from "../../src/core/errors.ts";
import { problem } from "../../src/http/problem.ts";
import { aKey, bare } from "../http/an-app.ts";
import { testDatabase } from "../postgres/database.ts";
import { apiKey, remotesOn } from "./a-remote.ts";

const database = testDatabase();
const aRemote = remotesOn(database);

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
