/** functions/vercel.ts as Vercel calls it: with a web request, and `waitUntil` by the context of the request. */
import { afterEach, expect, test, vi } from "vitest";
import { createApiKey } from "../../src/http/api-key.ts";
import { testDatabase } from "../postgres/database.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { secret, secrets } from "./a-worker.ts";

const database = testDatabase();
/** Where `@vercel/functions` looks for the context that Vercel's runtime gives to a request. */
const place = Symbol.for("@vercel/request-context");

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  Reflect.deleteProperty(globalThis, place);
});

test("a start is answered at once, the host waits for the work that goes on, and a tick registers the schedules", async () => {
  const endpoint = await openNeonEndpoint(database.url);
  const address = new URL(database.url);
  address.host = "ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech";
  for (const [name, value] of Object.entries({
    DATABASE_URL: address.href,
    LAYOVER_SECRET: secret,
    LAYOVER_ALARM: "https://alarm.example/apps/orders",
    PUBLIC_URL: "https://orders.example",
  }))
    vi.stubEnv(name, value);
  const { fetch } = globalThis;
  const armed: string[] = [];
  vi.stubGlobal("fetch", async (input: string, init: RequestInit) => {
    if (!String(input).startsWith("https://alarm.example/")) return await fetch(endpoint.fetchEndpoint, init);
    armed.push(String(input));
    return new Response(null, { status: 204 });
  });
  const works: Promise<unknown>[] = [];
  Reflect.set(globalThis, place, { get: () => ({ waitUntil: (work: Promise<unknown>) => void works.push(work) }) });

  const { default: deployed } = await import("../../functions/vercel.ts");
  const key = createApiKey(secrets, { name: "me", namespace: "default", scopes: ["start", "read", "admin"] });
  const call = (method: string, path: string, body?: object) =>
    deployed.fetch(
      new Request(`https://orders.example${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  const input = { customer: "Ada", amount: 42, items: ["lamp"], address: { street: "1 Rose St", city: "London" } };
  const started = await call("POST", "/v1/workflows/order/runs", { input });
  expect(started.status).toBe(201);
  expect(works).toHaveLength(1);
  expect(armed).toEqual(["https://alarm.example/apps/orders/arm"]);
  await Promise.all(works);
  const { runId } = Object(await started.json());
  expect(await (await call("GET", `/v1/runs/${runId}`)).json()).toMatchObject({ status: "waiting" });
  expect((await call("POST", "/v1/wake")).status).toBe(200);
  await Promise.all(works);
  expect(await (await call("GET", "/v1/schedules")).json()).toMatchObject({ schedules: [{ name: "nightly" }] });
  await endpoint.close();
});
