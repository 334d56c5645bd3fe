import { describe, expect, it } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, json, type TestApp } from "./an-app.ts";

describe("the room for bodies", () => {
  const database = testDatabase();

  /** Its database answers when it is let. */
  function aSlowApp(bodyBytes: number) {
    const gate = Promise.withResolvers<void>();
    const wrapQuery = (query: Query) =>
      Object.assign(
        async (...call: Parameters<Query>) => {
          await gate.promise;
          return await query(...call);
        },
        { endpoint: query.endpoint },
      );
    return { ...anApp(database.query, { bodyBytes }, { wrapQuery }), letItAnswer: gate.resolve };
  }

  async function post({ app }: Pick<TestApp, "app">, bytes: number | undefined): Promise<Response> {
    const { headers, ...init } = json({ input: "x" });
    const length: Record<string, string> = bytes === undefined ? {} : { "content-length": String(bytes) };
    return await app.request("/v1/workflows/anything/runs", { ...init, headers: { ...Object(headers), ...length } });
  }

  it("refuses a body for which there is none with 503, until another one is answered", async () => {
    const test = aSlowApp(1_000);
    const first = post(test, 600);
    const refused = await post(test, 401);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({
      code: "busy",
      detail: "this server has no room for another body: it holds 1000 bytes of them at most",
    });
    expect((await test.app.request("/health")).status).toBe(200);
    const second = post(test, 400);
    test.letItAnswer();
    expect([(await first).status, (await second).status]).toEqual([201, 201]);
    expect((await post(test, 401)).status).toBe(201);
  });

  it("counts a body without a length as the longest", async () => {
    const test = aSlowApp(2 * 1024 * 1024);
    const first = post(test, undefined);
    expect((await post(test, undefined)).status).toBe(503);
    test.letItAnswer();
    expect((await first).status).toBe(201);
  });

  it("lets a body that is longer than all of it come alone, and is free after one that fails", async () => {
    const test = aSlowApp(10);
    test.letItAnswer();
    expect((await post(test, 600)).status).toBe(201);
    const { app } = test;
    expect((await app.request("/v1/workflows/anything/runs", json({ nonsense: true }))).status).toBe(400);
    expect((await post(test, 600)).status).toBe(201);
  });
});
