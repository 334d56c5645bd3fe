import { expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { serve } from "../../src/platform/cloudflare/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { aStage } from "./worker-stage.ts";

const database = testDatabase();
const stage = aStage(database);

test.each<[string, Record<string, string | undefined>, string]>([
  ["no LAYOVER_SECRET", { LAYOVER_SECRET: undefined }, "`secrets`: there is no root secret"],
  ["a weak LAYOVER_SECRET", { LAYOVER_SECRET: "hidden" }, "`secrets`: a root secret holds 4 bytes, and 32 are needed"],
  ["no PUBLIC_URL", { PUBLIC_URL: undefined }, "`publicUrl`: the address is missing"],
  [
    "a PUBLIC_URL that is none",
    { PUBLIC_URL: "layover.example.com" },
    '`publicUrl`: "layover.example.com" is no address',
  ],
  [
    "the PUBLIC_URL that wrangler.toml begins with",
    { PUBLIC_URL: "https://layover.invalid" },
    '`publicUrl`: "https://layover.invalid" leads nowhere',
  ],
])("with %s the operator reads what to do, and a caller nothing", async (_, env, message) => {
  const worker = await stage.begin({ env });
  const answer = await worker.call("GET", "/health");
  expect(answer).toMatchObject({ status: 500, body: { code: "internal", detail: "something went wrong inside" } });
  expect(JSON.stringify(answer)).not.toContain("serve");
  expect(await worker.ring()).toBe("exception");
  const [logged = ""] = worker.logged.map(unquoted);
  expect(logged).toContain(`serve's option ${message}`);
  expect(logged).toContain("wrangler secret put");
  expect(logged).not.toContain("hidden");
  expect(stage.endpoint.arrivals).toBe(0);
});

test.each<[string, Record<string, string | undefined>, string]>([
  ["no DATABASE_URL", { DATABASE_URL: undefined }, "`database`: the connection string for neon() is missing"],
  [
    "a DATABASE_URL that is none",
    { DATABASE_URL: "http://hidden@host" },
    "`database`: neon() was given no valid connection string",
  ],
])(
  "with %s it is healthy and refuses who may not ask; who may reads nothing of why it fails",
  async (_, env, message) => {
    const worker = await stage.begin({ env });
    expect(await worker.call("GET", "/health")).toEqual({ status: 200, body: { status: "ok" } });
    const forged = await fetch(`${worker.url}/v1/runs`, { headers: { authorization: "Bearer lok_e30.forged" } });
    expect([forged.status, worker.logged]).toEqual([401, []]);
    const answer = await worker.call("GET", "/v1/runs");
    expect(answer).toMatchObject({ status: 500, body: { code: "internal", detail: "something went wrong inside" } });
    expect(JSON.stringify(answer)).not.toContain("serve");
    expect(await worker.ring()).toBe("exception");
    for (const logged of worker.logged.map(unquoted)) {
      expect(logged).toContain(`serve's option ${message}`);
      expect(logged).toContain("wrangler secret put");
      expect(logged).not.toContain("hidden");
    }
    expect(worker.logged).toHaveLength(1); // the second one is equal
  },
);

/** The text of an object's field, where the log shows the object as code. */
function unquoted(logged: string): string {
  return logged.replaceAll("\\'", "'");
}

const twice = workflow({ name: "twice", version: 1 }).handler(async () => {});

test.each([
  ["a workflow that is served twice", { workflows: [twice, twice] }, "registered twice"],
  ["a sweep of no duration", { workflows: [], sweep: "often" as "1 hour" }, 'sweep: "often" is not a duration'],
  ["a lease that is over at once", { workflows: [], leaseMs: 0 }, "leaseMs: 0 is no length of a lease"],
  ["a lease that is over before it began", { workflows: [], leaseMs: -5 }, "leaseMs: -5 is no length of a lease"],
  ["half a Durable Object", { workflows: [], alarmShards: 0.5 }, "alarmShards: 0.5 is no number of Durable Objects"],
])("%s is refused when the Worker is deployed, which runs its module", (_, some, message) => {
  const options = { database: () => database.query, publicUrl: () => "https://example.com", secrets: () => [secret] };
  expect(() => serve({ ...options, ...some })).toThrow(message);
});
