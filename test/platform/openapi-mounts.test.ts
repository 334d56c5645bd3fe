/** The OpenAPI document on hosts that are called by a request. (Lambda: lambda-functions.test.ts. Node: generated-client.test.ts.) */
import { workflow } from "layover";
import { serve as serveWorker } from "layover/cloudflare";
import { serve as serveFetch } from "layover/fetch";
import { openapi } from "layover/openapi";
import { describe, expect, test } from "vitest";
import { secret } from "./a-worker.ts";

const bare = workflow({ name: "bare", version: 1 }).handler(async () => {});
const workflows = [bare];
const url = "https://app.example/layover";
const never = Object.assign(() => Promise.reject(new Error("no statement is expected")), { endpoint: "none" });
type Mounted = { readonly openapi?: ReturnType<typeof openapi> };

const hosts: Readonly<
  Record<string, (mounted: Mounted) => Promise<{ readonly status: number; readonly body: string }>>
> = {
  "a Worker": async (mounted) => {
    const worker = serveWorker<object>({
      workflows,
      database: () => never,
      secrets: () => [secret],
      publicUrl: () => url,
      prefix: "/layover",
      ...mounted,
    });
    const context = { waitUntil: () => {} };
    const response = await worker.fetch(new Request(`${url}/openapi.json`), {}, context);
    return { status: response.status, body: await response.text() };
  },
  "a host with fetch": async (mounted) => {
    const answer = serveFetch({
      workflows,
      database: () => never,
      secrets: () => [secret],
      publicUrl: () => url,
      prefix: "/layover",
      waitUntil: () => {},
      ...mounted,
    });
    const response = await answer(new Request(`${url}/openapi.json`));
    return { status: response.status, body: await response.text() };
  },
};

describe.each(Object.entries(hosts))("on %s", (_, ask) => {
  test("the document is answered where it is mounted", async () => {
    const { status, body } = await ask({ openapi: openapi({ public: true }) });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      servers: [{ url: "/layover" }],
      paths: { "/v1/workflows/bare/runs": { post: { operationId: "startBare" } } },
    });
  });

  test("there is none where it is not mounted", async () => {
    expect((await ask({})).status).toBe(404);
  });
});
