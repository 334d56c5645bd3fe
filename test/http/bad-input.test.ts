/** Whatever comes in: 2xx or a 4xx with a code, never a 5xx, and no row for a 4xx. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { errorCodes } from "../../src/core/errors.ts";
import { sealCallback } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, anything, authorized, json, order, type TestApp } from "./an-app.ts";

describe("bad input", () => {
  const database = testDatabase();
  let test: TestApp;
  let runId: string;
  let callback: string;

  beforeAll(async () => {
    test = anApp(database.query, { sendsAnything: true });
    ({ runId } = await test.client.start(order, { id: "1" }, { id: "there" }));
    const ref = { runId, epoch: 0, path: "p", occurrence: 0, workflow: "order", version: 1, name: "approval" };
    callback = `/callbacks/${sealCallback(ref).token}`;
  });

  const rows = async () => {
    const tables = ["run", "run_state", "tag", "signal", "callback"];
    const counts = tables.map((table) => `(select count(*) from layover.${table})`).join(" + ");
    return Number((await database.pool.query(`select ${counts} as n`)).rows[0].n);
  };

  /** Sends it, checks what must hold of every answer, and gives `status code`. */
  async function answerTo(path: string, init: RequestInit = {}): Promise<string> {
    const before = await rows();
    const response = await test.app.request(path, init);
    const text = await response.text();
    expect(test.errors, `${init.method} ${path.slice(0, 80)}`).toEqual([]);
    expect(response.status).toBeLessThan(500);
    if (response.status < 400) return String(response.status);
    expect(await rows()).toBe(before);
    if (init.method === "HEAD" || response.headers.get("content-type")?.startsWith("text/html"))
      return String(response.status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = JSON.parse(text);
    expect(Object.keys(errorCodes)).toContain(problem.code);
    expect(errorCodes[problem.code as keyof typeof errorCodes]).toBe(response.status);
    expect(problem).toMatchObject({
      status: response.status,
      title: expect.any(String),
      detail: expect.any(String),
      hint: expect.any(String),
    });
    expect(text.length).toBeLessThan(4_000);
    return `${response.status} ${problem.code}`;
  }

  const start = "/v1/workflows/order/runs";
  const post = (body: BodyInit | null, headers: Record<string, string> = {}): RequestInit => ({
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...authorized, ...headers },
  });

  it("refuses a reason of what nothing can keep it with", async () => {
    for (const verb of ["resume", "adopt"])
      for (const field of ["reason", "by"])
        expect(await answerTo(`/v1/schedules/nightly/${verb}`, post(`{"${field}": "ada"}`))).toBe(
          "400 invalid_request",
        );
  });

  it("answers random bytes at every route", async () => {
    const routes = [
      start,
      "/v1/workflows/anything/runs",
      `/v1/runs/${runId}/signals/address`,
      "/v1/workflows/order/ids/there/signals/address",
      "/v1/runs",
      `/v1/runs/${runId}`,
      `/v1/runs/${runId}/history`,
      `/v1/runs/${runId}/result`,
      "/v1/wake",
      "/health",
      callback,
      `${callback}/reject`,
    ];
    const types = [
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
      "application/problem+json",
      "application/vnd.layover.value",
      "multipart/form-data",
      "",
      "application/json; charset=latin1",
    ];
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.json().map((text) => new TextEncoder().encode(text)),
      fc
        .record(
          {
            input: fc.jsonValue(),
            id: fc.jsonValue(),
            delay: fc.jsonValue(),
            tags: fc.jsonValue(),
            version: fc.jsonValue(),
          },
          { requiredKeys: [] },
        )
        .map((value) => new TextEncoder().encode(JSON.stringify(value))),
      fc
        .record({ payload: fc.jsonValue(), dedupeId: fc.jsonValue(), message: fc.jsonValue() }, { requiredKeys: [] })
        .map((value) => new TextEncoder().encode(JSON.stringify(value))),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"),
        fc.constantFrom(...types),
        fc.constantFrom("", "text/html", "application/json", "application/vnd.layover.value"),
        bodies,
        async (path, method, type, accept, body) => {
          const hasBody = method !== "GET" && method !== "HEAD";
          await answerTo(path, {
            method,
            headers: { ...authorized, "content-type": type, accept },
            ...(hasBody && { body: new Uint8Array(body) }),
          });
        },
      ),
      { numRuns: 400 },
    );
  });

  it("answers random paths and queries", async () => {
    const segment = fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }).map((text) => encodeURIComponent(text.toWellFormed())),
      fc.constantFrom(
        "v1",
        "runs",
        "workflows",
        "order",
        "ids",
        "signals",
        "address",
        "callbacks",
        "%",
        "%zz",
        "%00",
        "%ff",
        "..",
        ";",
        "*",
        ":id",
      ),
    );
    const paths = fc.array(segment, { maxLength: 7 }).map((segments) => `/${segments.join("/")}`);
    const names = fc.constantFrom(
      "workflow",
      "status",
      "tag",
      "limit",
      "cursor",
      "wait",
      "id",
      "__proto__",
      "constructor",
    );
    const values = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.toWellFormed()),
      fc.constantFrom("", "0", "-1", "1e9", "10s", "\u0000", "a:b", ":", "completed"),
    );
    const queries = fc
      .array(fc.tuple(names, values), { maxLength: 5 })
      .map((pairs) => new URLSearchParams(pairs).toString());
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(paths, fc.constantFrom("/v1/runs", `/v1/runs/${runId}`)),
        queries,
        fc.constantFrom("GET", "POST"),
        async (path, query, method) => {
          await answerTo(`${path}?${query}`, { method, headers: authorized });
        },
      ),
      { numRuns: 400 },
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
