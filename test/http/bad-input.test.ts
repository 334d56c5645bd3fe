/** Input that is wrong in a known way: it is answered by a 4xx with a code, never by a 5xx, and leaves no row. */
import { beforeAll, describe, expect, it } from "vitest";
import { sealCallback } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aCheckedApp, type CheckedApp, post, start } from "./a-checked-app.ts";
import { anApp, anything, authorized, json } from "./an-app.ts";

describe("bad input", () => {
  const database = testDatabase();
  let test: CheckedApp["test"];
  let runId: CheckedApp["runId"];
  let answerTo: CheckedApp["answerTo"];

  beforeAll(async () => {
    ({ test, runId, answerTo } = await aCheckedApp(database));
  });

  it("refuses a reason of what nothing can keep it with", async () => {
    for (const verb of ["resume", "adopt"])
      for (const field of ["reason", "by"])
        expect(await answerTo(`/v1/schedules/nightly/${verb}`, post(`{"${field}": "ada"}`))).toBe(
          "400 invalid_request",
        );
  });

  it("takes apart what is no JSON, is no UTF-8, or is too deep", async () => {
    expect(await answerTo(start, post("{"))).toBe("400 invalid_json");
    expect(await answerTo(start, post("{'input': 1}"))).toBe("400 invalid_json");
    expect(await answerTo(start, post("undefined"))).toBe("400 invalid_json");
    expect(await answerTo(start, post(Buffer.from('{"input":{"id":"\xff"}}', "latin1")))).toBe("400 invalid_request");
    expect(await answerTo(start, post("[".repeat(100_000)))).toBe("422 too_deep");
    const deep = (levels: number) => `{"input":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(await answerTo("/v1/workflows/anything/runs", post(deep(100_000)))).toBe("422 too_deep");
    expect(await answerTo("/v1/workflows/anything/runs", post(deep(1_001)))).toBe("422 too_deep");
    expect(await answerTo("/v1/workflows/anything/runs", post(deep(1_000)))).toBe("201");
    expect(await answerTo("/v1/workflows/anything/runs", post(`{"input":"\\"${"[".repeat(10_000)}"}`))).toBe("201");
  });

  it("stops reading a body that is too large, announced or not", async () => {
    const large = JSON.stringify({ input: { id: "x".repeat(1_200_000) } });
    expect(await answerTo(start, post(large))).toBe("413 body_too_large");
    expect(await answerTo(start, post("{}", { "content-length": "99999999999" }))).toBe("413 body_too_large");
    let pulls = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(100_000).fill(32));
      },
    });
    expect(await answerTo(start, { ...post(endless), duplex: "half" } as RequestInit)).toBe("413 body_too_large");
    expect(pulls).toBeLessThan(20);
    expect(await answerTo(start, post(JSON.stringify({ input: { id: "x".repeat(1_048_576) } })))).toBe(
      "413 value_too_large",
    );
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error("ECONNRESET"));
      },
    });
    expect(await answerTo(start, { ...post(broken), duplex: "half" } as RequestInit)).toBe("400 invalid_request");
  });

  it("wants JSON where it takes JSON", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/jsonp",
    ]) {
      expect(await answerTo(start, post("{}", { "content-type": type }))).toBe("415 unsupported_media_type");
    }
    expect(await answerTo(start, post("{}", { "content-type": "application/json; charset=utf-16" }))).toBe(
      "415 unsupported_media_type",
    );
    expect(await answerTo(start, post(new TextEncoder().encode("{}"), { "content-type": "" }))).toBe(
      "415 unsupported_media_type",
    );
    const ref = { runId, epoch: 0, path: "q", occurrence: 0, workflow: "order", version: 1, name: "approval" };
    const open = `/callbacks/${sealCallback(ref).token}`;
    expect(await answerTo(open, { method: "POST", body: "x", headers: { "content-type": "text/plain" } })).toBe(
      "415 unsupported_media_type",
    );
    expect(await answerTo(start, post("{}", { "content-encoding": "gzip" }))).toBe("415 unsupported_media_type");
    const body = JSON.stringify({ input: { id: "1" } });
    expect(await answerTo(start, post(body, { "content-encoding": "identity" }))).toBe("201");
    expect(await answerTo(start, post(body, { "content-type": 'Application/JSON; charset="UTF-8"' }))).toBe("201");
  });

  it("refuses names that cannot be names, and keeps values that are hard to keep", async () => {
    const input = { id: "1" };
    for (const id of ["\u0000", "a\nb", "\ud800", " a", "", "x".repeat(201), "x".repeat(1_000_000)]) {
      expect(await answerTo(start, json({ input, id }))).toBe("422 invalid_name");
      expect(await answerTo(start, json({ input, tags: { name: id } }))).toBe("422 invalid_name");
      expect(await answerTo(start, json({ input, tags: { [id]: "value" } }))).toBe("422 invalid_name");
    }
    expect(await answerTo(start, post(JSON.stringify({ input }), { "idempotency-key": "x".repeat(1_000) }))).toBe(
      "422 invalid_name",
    );
    expect(await answerTo(`/v1/workflows/${"x".repeat(1_000_000)}/runs`, json({}))).toBe("404 unknown_workflow");
    expect(await answerTo("/v1/workflows/__proto__/runs", json({}))).toBe("404 unknown_workflow");
    expect(await answerTo(`/v1/runs/${runId}/signals/__proto__`, json({ payload: 1 }))).toBe("422 unknown_signal");
    expect(await answerTo(`/v1/runs/${runId}/signals/${"x".repeat(100_000)}`, json({ payload: 1 }))).toBe(
      "422 unknown_signal",
    );
    expect(await answerTo("/v1/workflows/order/ids/%00/signals/address", json({ payload: { city: "x" } }))).toBe(
      "422 invalid_name",
    );

    const hard =
      '{"nul":"\\u0000","lone":"\\ud800","big":12345678901234567890,"zero":-0,"__proto__":{"admin":true},"constructor":1}';
    const response = await test.app.request("/v1/workflows/anything/runs", post(`{"input":${hard}}`));
    const run = await test.client.get((await response.json()).runId);
    expect(run.input).toEqual(JSON.parse(hard));
    expect(Object.hasOwn(Object(run.input), "__proto__")).toBe(true);
    expect(Reflect.get({}, "admin")).toBeUndefined();
    const shown = await (await test.app.request(`/v1/runs/${run.runId}`, { headers: authorized })).text();
    expect(shown).toContain('"__proto__":{"admin":true}');
    expect(await answerTo(start, post('{"input":{"id":"1"},"__proto__":{}}'))).toBe("400 invalid_request");
  });

  it("refuses absurd durations", async () => {
    const input = { id: "1" };
    for (const delay of [
      -1,
      1e300,
      "1e9 days",
      "11 years",
      "-1s",
      "1000 weeks",
      "∞",
      "",
      "9".repeat(1_000),
      "3653 days 1 ms",
    ]) {
      expect(await answerTo(start, json({ input, delay })), String(delay)).toBe("422 invalid_duration");
      expect(await answerTo(`${start}?wait=${encodeURIComponent(String(delay))}`, json({ input }))).toBe(
        "422 invalid_duration",
      );
    }
    expect(await answerTo(start, json({ input, startAt: "9999-12-31T23:59:59Z" }))).toBe("422 invalid_duration");
    expect(await answerTo(start, json({ input, startAt: "0001-01-01T00:00:00Z" }))).toBe("422 invalid_duration");
    expect(await answerTo(start, json({ input, delay: true }))).toBe("400 invalid_request");
  });

  it("refuses a payload that the schema's own code cannot bear", async () => {
    const throwing = {
      "~standard": {
        version: 1,
        vendor: "mine",
        validate: () => {
          throw new Error("secret inside");
        },
      },
    } as const;
    const app = anApp(database.query, { contracts: [{ ...anything, input: throwing }] });
    const response = await app.app.request("/v1/workflows/anything/runs", json({ input: 1 }));
    const text = await response.text();
    expect([response.status, text.includes("secret inside")]).toEqual([422, false]);
  });
});
