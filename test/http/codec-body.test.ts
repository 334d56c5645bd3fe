/** Bodies in the codec (media-type.ts), from our own client and from strangers who claim to be it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { valueType } from "../../src/client/over-http/media-type.ts";
import { Unreadable } from "../../src/client/unreadable.ts";
import { decode, encode } from "../../src/core/codec/codec.ts";
import { carryOut, sealCallback } from "../client/a-client.ts";
import { richValue, shapeOf } from "../core/codec/rich-values.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, anything, authorized, bare } from "./an-app.ts";

const database = testDatabase();

function aCaller() {
  const test = anApp(database.query);
  const fetch = async (url: string, init: RequestInit) => await test.app.request(url, init);
  return { ...test, inProcess: test.client, client: new HttpClient({ url: "http://test", apiKey: aKey(), fetch }) };
}

const inCodec = (body: string): RequestInit => ({
  method: "POST",
  body,
  headers: { ...authorized, "content-type": valueType },
});

describe("values", () => {
  it("go through a handler's hands as in process", async () => {
    const { client, calls, inProcess } = aCaller();
    await fc.assert(
      fc.asyncProperty(richValue, async (value) => {
        const run = await client.start(anything, value);
        expect(shapeOf((await inProcess.get(run.runId)).input)).toEqual(shapeOf(value));
        await run.signal("any", value);
        const claimed = await carryOut(calls, { runId: run.runId, workflow: "anything" }, { completed: value });
        expect(shapeOf(decode(claimed.signals?.[0]?.payload ?? ""))).toEqual(shapeOf(value));
        expect(shapeOf(await run.result())).toEqual(shapeOf(value));
        expect(shapeOf(await run.get())).toEqual(shapeOf(await inProcess.get(run.runId)));
      }),
      { numRuns: 20 },
    );
  });

  it("that nobody can read are told as Unreadable, in a run, a list and a result", async () => {
    const { client, calls, inProcess } = aCaller();
    const run = await client.start(anything, 1, { tags: { codec: "broken" } });
    await carryOut(calls, { runId: run.runId, workflow: "anything" }, { completed: 1 });
    const { pool } = database;
    await pool.query("update layover.run set input = '9?' where id = $1", [run.runId]);
    await pool.query("update layover.run_state set result = '9?' where run_id = $1", [run.runId]);
    const unreadable = new Unreadable('the stored value cannot be read: its format "9" is unknown here');
    expect(await run.get()).toMatchObject({ input: unreadable, result: unreadable });
    expect((await run.get()).input).toBeInstanceOf(Unreadable);
    expect(await run.get()).toEqual(await inProcess.get(run.runId));
    expect(await client.list({ tags: { codec: "broken" } })).toEqual(
      await inProcess.list({ tags: { codec: "broken" } }),
    );
    await expect(run.result()).rejects.toMatchObject({ code: "undecodable_value" });
  });

  it("are JSON for whoever does not ask for the codec", async () => {
    const { app, client } = aCaller();
    const { runId } = await client.start(anything, { at: new Date(0), big: 1n });
    const plain = await app.request(`/v1/runs/${runId}`, { headers: authorized });
    expect(plain.headers.get("content-type")).toBe("application/json");
    expect((await plain.json()).input).toEqual({ at: "1970-01-01T00:00:00.000Z", big: "1" });
    const coded = await app.request(`/v1/runs/${runId}`, { headers: { ...authorized, accept: valueType } });
    expect(coded.headers.get("content-type")).toBe(valueType);
    expect(decode(await coded.text())).toMatchObject({
      input: { at: new Date(0), big: 1n },
      createdAt: expect.any(Date),
    });
  });
});

describe("a body in the codec", () => {
  const start = "/v1/workflows/anything/runs";
  const tagged = (name: string, v: unknown) => `1{"input":{"$":${JSON.stringify(name)},"v":${JSON.stringify(v)}}}`;

  it.each([
    ["no codec at all", '{"input": 1}', 400, "invalid_value"],
    ["a version to come", '2{"input": 1}', 400, "invalid_value"],
    ["cut short", '1{"input": ', 400, "invalid_value"],
    ["an unknown class", tagged("Function", "return 1"), 400, "invalid_value"],
    ["a name on the prototype", tagged("constructor", {}), 400, "invalid_value"],
    ["__proto__ as a class", tagged("__proto__", {}), 400, "invalid_value"],
    ["a class that is no text", '1{"input":{"$":{"$":"undefined"},"v":1}}', 400, "invalid_value"],
    ["a Map of no pairs", tagged("Map", [1]), 400, "invalid_value"],
    ["a Date of an object", tagged("Date", {}), 400, "invalid_value"],
    ["a bigint of letters", tagged("bigint", "x"), 400, "invalid_value"],
    ["a bigint that takes long to read", tagged("bigint", "9".repeat(1_000_000)), 400, "invalid_value"],
    ["a URL of nothing", tagged("URL", "nothing"), 400, "invalid_value"],
    ["bytes that are no base64", tagged("Uint8Array", "?"), 400, "invalid_value"],
    ["an Error without a name", tagged("Error", { message: "x" }), 400, "invalid_value"],
    ["a Map for a body", '1{"$":"Map","v":[["input",1]]}', 400, "invalid_request"],
    ["an Error for a body", '1{"$":"Error","v":{"name":"E","message":"m","input":1}}', 400, "invalid_request"],
    ["a Map for tags", '1{"tags":{"$":"Map","v":[["a","b"]]}}', 400, "invalid_request"],
    ["a date that is none", '1{"startAt":{"$":"Date","v":"x"}}', 422, "invalid_duration"],
    ["deeper than any value", `1${"[".repeat(4_000)}${"]".repeat(4_000)}`, 422, "too_deep"],
    ["a value too deep", `1{"input":${"[".repeat(1_001)}${"]".repeat(1_001)}}`, 422, "too_deep"],
    ["a value too large", `1{"input":"${"x".repeat(1_048_576)}"}`, 413, "value_too_large"],
    ["larger than any body", `1{"input":"${"x".repeat(1_200_000)}"}`, 413, "body_too_large"],
  ])("is refused where it is %s", async (_, body, status, code) => {
    const { app, errors } = aCaller();
    const response = await app.request(start, inCodec(body));
    expect([response.status, (await response.json()).code]).toEqual([status, code]);
    expect(errors).toEqual([]);
  });

  it("is told what is wrong in it", async () => {
    const { app } = aCaller();
    const detailOf = async (body: string) => (await (await app.request(start, inCodec(body))).json()).detail;
    expect(await detailOf(tagged("Function", ""))).toBe(
      'the body cannot be read: its text is damaged: the tag "Function" is unknown',
    );
    expect(await detailOf('2{"input": 1}')).toBe('the body cannot be read: its format "2" is unknown here');
  });

  it("makes nothing but plain values, whatever its keys are called", async () => {
    const { app, inProcess } = aCaller();
    const hostile = [
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"then":1}',
      '{"$":"Object","v":{"__proto__":{"$":"Date","v":"1970-01-01"},"$":"Map"}}',
      '{"$":"Error","v":{"name":"E","message":"m","__proto__":{"polluted":1},"toString":1,"stack":[]}}',
      '{"$":"Map","v":[["__proto__",{"$":"Set","v":["constructor"]}]]}',
      '{"__proto__":{"$":"Error","v":{"name":"__proto__","message":"constructor"}}}',
    ];
    for (const input of hostile) {
      const response = await app.request(start, inCodec(`1{"input":${input},"__proto__":{"version":9}}`));
      // `__proto__` is a key like others, so at the top of a body it is a field that is not known.
      expect(response.status).toBe(400);
      const { runId } = await (await app.request(start, inCodec(`1{"input":${input}}`))).json();
      const stored = (await inProcess.get(runId)).input;
      expect(shapeOf(decode(encode(stored)))).toEqual(shapeOf(stored));
      const prototypes: unknown[] = [Object.prototype, Map.prototype, Error.prototype];
      expect(prototypes.includes(Object.getPrototypeOf(stored))).toBe(true);
      expect(Reflect.get({}, "polluted")).toBeUndefined();
    }
  });

  it("answers a callback, and is checked by its schema as JSON is", async () => {
    const { app, client, inProcess } = aCaller();
    const { runId } = await inProcess.start(bare);
    const ref = { runId, epoch: 0, path: "p", occurrence: 0, workflow: "order", version: 1, name: "approval" };
    const path = `/callbacks/${sealCallback(ref).token}`;
    const refused = await app.request(path, inCodec('1{"$":"Map","v":[["ok",true]]}'));
    expect([refused.status, (await refused.json()).code]).toEqual([422, "invalid_payload"]);
    expect((await app.request(path, inCodec('1{"ok":true}'))).status).toBe(200);
    expect((await client.callback(`http://test${path}`)).status).toBe("resolved");
  });

  it("whatever it is: 2xx or a 4xx with a code", async () => {
    const { app, errors } = aCaller();
    const tag = fc.record({
      $: fc.oneof(fc.constantFrom("Map", "Set", "Date", "Error", "Object", "URL", "bigint", "number"), fc.string()),
      v: fc.oneof(fc.jsonValue(), fc.constant([["a", { $: "Set", v: [1] }]])),
    });
    const body = fc.oneof(
      fc.string().map((text) => `1${text}`),
      fc.oneof(tag, fc.record({ input: tag })).map((value) => `1${JSON.stringify(value)}`),
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const response = await app.request(start, inCodec(text));
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
    expect(errors).toEqual([]);
  });
});
