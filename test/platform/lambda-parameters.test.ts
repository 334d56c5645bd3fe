/** When an environment of Lambda that is warm reads its parameters again: whenever what has failed may be their fault. */
import { createHmac } from "node:crypto";
import { workflow } from "layover";
import type { LambdaOptions } from "layover/lambda";
import { hmac, start, webhook } from "layover/webhooks";
import { beforeEach, describe, expect, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { clientWithin } from "../../src/platform/lambda/client-of.ts";
import { functionsOf } from "../../src/platform/lambda/serve.ts";
import type { LambdaRuntime } from "../../src/platform/lambda/served-functions.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { lambdaContext, lambdaEnv, postTo, quietServices } from "./lambda-ground.ts";

const database = testDatabase();

const still = workflow({ name: "still", version: 1 }).handler(async ({ step }) => step.run("it", () => "done"));
const shop = webhook({
  name: "shop",
  respond: "before",
  verify: hmac({ header: "x-shop", secret: () => "of the shop", delivery: "x-id" }),
  on: () => start(still.contract, undefined, { id: "o1" }),
});

let parameters: Map<string, string>;
let reads: number;
let aheadMs: number;
let invoked: unknown[];
let sent: string[];
let scheduled: string[];

/** The database takes this password. */
let password: string;

beforeEach(() => {
  password = "the first";
  parameters = new Map([
    ["/orders/secret", secret],
    ["/orders/public-url", "https://orders.example"],
    ["/orders/database-url", "the first"],
  ]);
  [reads, aheadMs, invoked, sent, scheduled] = [0, 0, [], [], []];
});

const options: LambdaOptions = {
  workflows: [still],
  webhooks: [shop],
  onError: () => {},
  database: (parameter) => {
    const given = parameter("database-url");
    const query: typeof database.query = Object.assign(
      async (...call: Parameters<typeof database.query>) => {
        if (given !== password) throw new QueryError("password authentication failed", { isRolledBack: true });
        return await database.query(...call);
      },
      { endpoint: database.query.endpoint },
    );
    return query;
  },
};

function runtime(): LambdaRuntime {
  return {
    host: {
      now: () => hostClock.now() + aheadMs,
      monotonic: () => hostClock.monotonic() + aheadMs,
      after: (ms, act) => hostClock.after(ms > 1_000 ? ms : Math.min(ms, 20), act),
    },
    env: lambdaEnv,
    engine: {},
    services: {
      ...quietServices("", invoked),
      schedule: async ({ input }) => {
        scheduled.push(input);
        return "created";
      },
      send: async (_, messages) => {
        sent.push(...messages.map(({ body }) => body));
        return [];
      },
      parameters: async (names) => {
        reads += 1;
        return new Map([...parameters].filter(([name]) => names.includes(name)));
      },
    },
  };
}

function environment() {
  return functionsOf(options, runtime());
}

async function startBy(functions: ReturnType<typeof environment>): Promise<number | undefined> {
  const key = createApiKey(new Secrets([secret]), { name: "me", namespace: "default", scopes });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return await postTo(functions, { path: "/v1/workflows/still/runs", headers, body: "{}" });
}

/** Gives the database another password, and its parameter as well. */
function replacePassword(): void {
  password = "the second";
  parameters.set("/orders/database-url", "the second");
}

describe("the database's password, once it is replaced", () => {
  test("is read by `http` when an answer says that it failed", async () => {
    const functions = environment();
    expect(await startBy(functions)).toBe(201);
    replacePassword();
    expect(await startBy(functions)).toBeGreaterThanOrEqual(500); // the last reading is less than a minute old
    aheadMs += 61_000;
    expect(await startBy(functions)).toBeGreaterThanOrEqual(500);
    expect(await startBy(functions)).toBe(201);
    expect(reads).toBe(2);
  });

  test("is read by a tick that fails, after it has armed the next one", async () => {
    const functions = environment();
    await functions.tick({}, lambdaContext);
    replacePassword();
    aheadMs += 61_000;
    await functions.tick({}, lambdaContext);
    expect(scheduled.map((input) => JSON.parse(input).tries)).toContain(1);
    scheduled = [];
    await functions.tick({ tries: 1 }, lambdaContext);
    expect(scheduled.map((input) => JSON.parse(input).tries)).not.toContain(2);
    expect(reads).toBe(2);
  });

  test("is read by turns that could not be claimed", async () => {
    const [http, turns] = [environment(), environment()];
    const done = async () => {
      await startBy(http);
      await turns.turns(invoked.pop(), lambdaContext);
      const { rows } = await database.pool.query("select run_id from layover.run_state where status = 'completed'");
      return rows.length;
    };
    const before = await done();
    replacePassword();
    aheadMs += 61_000;
    await turns.turns({ turns: [{ runId: crypto.randomUUID(), turn: 1 }] }, lambdaContext);
    await startBy(http);
    expect(await done()).toBe(before + 1);
    expect(reads).toBe(4);
  });

  test("is read by the client of another function of one's own, and not for its own mistakes", async () => {
    const withClient = clientWithin(options, runtime());
    const begin = () => withClient(lambdaContext, async (client) => await client.start(still.contract, undefined));
    await begin();
    aheadMs += 61_000;
    await expect(
      withClient(lambdaContext, async (client) => await client.start(still.contract, undefined, { delay: -1 })),
    ).rejects.toMatchObject({ code: "invalid_duration" });
    replacePassword();
    expect(reads).toBe(1);
    await expect(begin()).rejects.toThrow();
    await begin();
    expect(reads).toBe(2);
  });

  test("is looked for at most once a minute, however often the database fails", async () => {
    const functions = environment();
    await startBy(functions);
    password = "the second";
    aheadMs += 61_000;
    await functions.tick({}, lambdaContext);
    await functions.turns({ turns: [{ runId: crypto.randomUUID(), turn: 1 }] }, lambdaContext);
    await functions.tick({}, lambdaContext);
    expect(reads).toBe(2);
  });
});

test("a parameter that is made after the first tick of a deployment is found by the next one", async () => {
  parameters.delete("/orders/database-url");
  const functions = environment();
  await functions.tick({}, lambdaContext);
  parameters.set("/orders/database-url", "the first");
  scheduled = [];
  await functions.tick({ tries: 1 }, lambdaContext); // the last reading is less than a minute old
  expect(scheduled).toHaveLength(1);
  aheadMs += 61_000;
  scheduled = [];
  await functions.tick({ tries: 2 }, lambdaContext);
  expect(scheduled.map((input) => JSON.parse(input).tries)).not.toContain(3);
  expect(reads).toBe(2);
});

test("a delivery that a new root secret has sealed is carried out at the second try, where the old one was known", async () => {
  const turns = environment();
  await turns.turns({ turns: [{ runId: crypto.randomUUID(), turn: 1 }] }, lambdaContext);
  parameters.set("/orders/secret", "YW5vdGhlciBzZWNyZXQgb2YgdGhpcyB0ZXN0LCBhcyBnb29kIGFzIHRoZSBmaXJzdA");
  parameters.set("/orders/secret-old", secret);
  const body = "{}";
  const headers = { "x-id": "d1", "x-shop": createHmac("sha256", "of the shop").update(body).digest("hex") };
  expect(await postTo(environment(), { path: "/webhooks/shop", headers, body })).toBe(202);
  const { event } = JSON.parse(sent[0] ?? "");
  aheadMs += 61_000;
  await expect(turns.turns(event, lambdaContext)).rejects.toThrow();
  await turns.turns(event, lambdaContext);
  const { rows } = await database.pool.query("select outcome from layover.delivery where id = 'd1'");
  expect(rows).toEqual([{ outcome: "done" }]);
});
