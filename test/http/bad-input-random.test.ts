/** Random bytes, paths and queries: each is answered by a 2xx or a 4xx, never a 5xx, and a 4xx leaves no row. */
import fc from "fast-check";
import { beforeAll, describe, it } from "vitest";
import { sealCallback } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aCheckedApp, type CheckedApp, start } from "./a-checked-app.ts";
import { authorized } from "./an-app.ts";

describe("bad input", () => {
  const database = testDatabase();
  let runId: CheckedApp["runId"];
  let answerTo: CheckedApp["answerTo"];
  let callback: string;

  beforeAll(async () => {
    ({ runId, answerTo } = await aCheckedApp(database));
    const ref = { runId, epoch: 0, path: "p", occurrence: 0, workflow: "order", version: 1, name: "approval" };
    callback = `/callbacks/${sealCallback(ref).token}`;
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
});
