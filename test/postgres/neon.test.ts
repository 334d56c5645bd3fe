import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Dispatch, Query } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { type NeonOptions, neon } from "../../src/postgres/neon.ts";
import { aHastyHost } from "../client/a-client.ts";
import { describeEachPostgres, postgresUrl, testDatabase } from "./database.ts";
import { emptyDatabase } from "./fresh-database.ts";
import {
  answered,
  asleep,
  type Fate,
  halfAnswered,
  late,
  type NeonEndpoint,
  openNeonEndpoint,
  refused,
  unanswered,
  unread,
} from "./neon-endpoint.ts";
import { describeQuery, failureOf } from "./query-conformance.ts";

const passwords: string[] = [];

function over({ url, fetchEndpoint }: Pick<NeonEndpoint, "url" | "fetchEndpoint">, options: NeonOptions = {}): Query {
  return neon(url, { fetchEndpoint, ...options });
}

for (const version of inject("postgres").versions) {
  describeQuery({
    name: `Neon's HTTP endpoint (${version})`,
    endpoint: /^127\.0\.0\.1\/layover_test_\w+$/,
    secrets: () => passwords,
    async open() {
      const { url, drop } = await emptyDatabase(await postgresUrl(version));
      passwords.push(new URL(url).password);
      const endpoint = await openNeonEndpoint(url);
      return {
        query: over(endpoint),
        async close() {
          await endpoint.close();
          await drop();
        },
      };
    },
  });
}

/** Time passes for the adapter's timer only when a test says so. */
const stopTime = () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

/** The request is carried out; then its client has waited for so long that it leaves. */
function clientLeaves(afterMs: number): Fate {
  return async ({ carryOut }) => {
    await carryOut();
    vi.advanceTimersByTime(afterMs);
  };
}

function fetchWith(instead: typeof fetch): void {
  vi.stubGlobal("fetch", instead);
  onTestFinished(() => void vi.unstubAllGlobals());
}

/** What Neon says when a compute did not wake in time. */
const noCompute = refused(500, `{"message":"Couldn't connect to compute node","code":null}`);

describe("a request that fails", () => {
  const database = testDatabase({ isEmpty: true });
  let endpoint: NeonEndpoint;
  let password: string;

  beforeEach(async () => {
    endpoint = await openNeonEndpoint(database.url);
    password = new URL(database.url).password;
    stopTime();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await endpoint.close();
  });

  test.each<[string, Fate]>([
    ["whose connection is cut before it is read", unread],
    ["whose answer is dropped", unanswered],
    ["whose answer breaks off in the middle", halfAnswered],
    ["that gets a 500 of Neon's own", noCompute],
    ["that gets a 502 of a proxy's", refused(502, "<html>Bad gateway</html>")],
    ["that gets a 503 and nothing more", refused(503)],
    ["that gets a 400 without Postgres' code", refused(400, `{"message":"invalid hostname","code":null}`)],
    ["that gets a 400 which is no JSON", refused(400, "Bad request")],
    ["that gets an answer which is none", refused(200, "<html>Sign in to this wifi</html>")],
    ["that gets an answer without rows", refused(200, `{"message":"welcome"}`)],
  ])("%s leaves open whether it took effect, and is sent once", async (_, fate) => {
    endpoint.next(fate);
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ isRolledBack: false, sqlState: undefined });
    expect(failed.message).not.toBe("");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(password);
    expect(endpoint.arrivals).toBe(1);
  });

  test.each([
    ["57P01", "FATAL", false],
    ["08006", "ERROR", false],
    ["40P01", "ERROR", true],
    ["53300", "ERROR", true],
  ])("with the code %s (%s) took no effect: %s", async (code, severity, isRolledBack) => {
    endpoint.next(refused(400, JSON.stringify({ message: "no", code, severity })));
    expect(await failureOf(over(endpoint)("select 1"))).toMatchObject({ sqlState: code, isRolledBack });
  });

  test.each([
    ["ECONNREFUSED", true],
    ["ENOTFOUND", true],
    ["EAI_AGAIN", true],
    ["UND_ERR_CONNECT_TIMEOUT", true],
    ["ECONNRESET", false],
    ["EPIPE", false],
    ["UND_ERR_SOCKET", false],
  ])("with the network's %s took no effect: %s", async (code, isRolledBack) => {
    const cause = Object.assign(new Error("the network said no"), { code });
    fetchWith(async () => {
      throw new TypeError("fetch failed", { cause });
    });
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ message: "the network said no", isRolledBack, sqlState: undefined });
  });

  test("because nobody listens says so, and took no effect for certain", async () => {
    await endpoint.close();
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ isRolledBack: true, sqlState: undefined });
    expect(failed.message).toContain("ECONNREFUSED");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(password);
    endpoint = await openNeonEndpoint(database.url);
  });

  test("because there is no such host took no effect for certain", async () => {
    const query = neon("postgres://ann:hush-hush@no-such-host.invalid/main");
    expect(await failureOf(query("select 1"))).toMatchObject({ isRolledBack: true, sqlState: undefined });
  });

  test("because a proxy refuses it says what the proxy said, in short", async () => {
    endpoint.next(refused(502, `<html>Bad gateway${" ".repeat(10_000)}</html>`));
    const { message } = await failureOf(over(endpoint)("select 1"));
    expect(message).toContain("HTTP status 502): <html>Bad gateway");
    expect(message.length).toBeLessThan(300);
  });

  test("because something else answers says so", async () => {
    endpoint.next(refused(200, `{"message":"welcome"}`));
    expect((await failureOf(over(endpoint)("select 1"))).message).toContain("is not Neon's endpoint");
  });

  test("because it is sent elsewhere does not go there, with its password", async () => {
    const elsewhere = await openNeonEndpoint(database.url);
    onTestFinished(() => elsewhere.close());
    endpoint.next(refused(307, "", { location: elsewhere.fetchEndpoint }));
    expect(await failureOf(over(endpoint)("select 1"))).toMatchObject({ isRolledBack: false, sqlState: undefined });
    expect([endpoint.arrivals, elsewhere.arrivals]).toEqual([1, 0]);
  });

  test("because the password is wrong says so, and keeps the password", async () => {
    const url = new URL(endpoint.url);
    url.password = "hush-hush";
    const failed = await failureOf(over({ ...endpoint, url: url.href })("select 1"));
    expect(failed.sqlState).toBe("28P01");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain("hush-hush");
  });

  test("because its client left after the commit leaves open whether it took effect, and did", async () => {
    await database.query("create table done (id integer)");
    endpoint.next(clientLeaves(15_000));
    const failed = await failureOf(over(endpoint)("insert into done values (1)"));
    expect(failed).toMatchObject({ message: "Neon did not answer within 15000 ms.", isRolledBack: false });
    expect(await database.query("select id from done")).toEqual([{ id: 1 }]);
  });

  test("because its client left before the commit leaves open whether it took effect, and is cancelled", async () => {
    const isAsleep = "query like 'select pg_sleep%' and state = 'active'";
    const sleepers = async () => await database.query(`select pid from pg_stat_activity where ${isAsleep}`);
    const failed = failureOf(over(endpoint, { timeoutMs: 3_000 })("select pg_sleep(25)"));
    await expect.poll(sleepers).toHaveLength(1);
    vi.advanceTimersByTime(3_000);
    expect(await failed).toMatchObject({ message: "Neon did not answer within 3000 ms.", isRolledBack: false });
    await expect.poll(sleepers).toEqual([]);
  });

  test("is no longer waited for: no timer is left behind", async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const { fetch } = globalThis;
    fetchWith((address, request) => {
      signals.push(request?.signal);
      return fetch(address, request);
    });
    endpoint.next(answered, refused(503));
    await over(endpoint)("select 1");
    await failureOf(over(endpoint)("select 1"));
    vi.advanceTimersByTime(60_000);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false, false]);
  });

  test("by being two seconds late only has not failed", async () => {
    const { promise: answering, resolve: answer } = Promise.withResolvers<void>();
    endpoint.next(late(answering));
    const rows = over(endpoint)("select 1 as one");
    await expect.poll(() => endpoint.bodies.length).toBe(1);
    vi.advanceTimersByTime(2_000);
    answer();
    expect(await rows).toEqual([{ one: 1 }]);
    expect(endpoint.arrivals).toBe(1);
  });
});

describe("a statement", () => {
  const database = testDatabase({ isEmpty: true });
  let endpoint: NeonEndpoint;

  beforeEach(async () => {
    endpoint = await openNeonEndpoint(database.url);
  });
  afterEach(async () => await endpoint.close());

  test("is one request that holds its text and its values as text, and names nothing that is to be kept", async () => {
    await over(endpoint)("select $1::int, $2::float8, $3::text, $4::text", [1, 0.5, "x", null]);
    expect(endpoint.bodies).toEqual([
      { query: "select $1::int, $2::float8, $3::text, $4::text", params: ["1", "0.5", "x", null] },
    ]);
    expect(endpoint.arrivals).toBe(1);
  });

  test("waits until a cold database is awake, and so do those beside it", async () => {
    const { promise: awake, resolve: wake } = Promise.withResolvers<void>();
    const query = over(endpoint);
    endpoint.next(asleep(awake), asleep(awake), asleep(awake));
    const rows = Promise.all([1, 2, 3].map(async (number) => (await query("select $1::int as number", [number]))[0]));
    await expect.poll(() => endpoint.arrivals).toBe(3);
    wake();
    expect(await rows).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }]);
    expect(endpoint.arrivals).toBe(3);
  });
});

describeEachPostgres(
  "layover over Neon's HTTP endpoint",
  (database) => {
    let endpoint: NeonEndpoint;
    let calls: Calls;

    beforeEach(async () => {
      endpoint = await openNeonEndpoint(database.url);
      calls = makeCalls({
        query: over(endpoint),
        namespace: "test",
        alarm: async () => {},
        host: aHastyHost(),
      });
      await calls.now();
    });
    afterEach(async () => {
      vi.useRealTimers();
      await endpoint.close();
    });

    test.each<[string, Fate]>([
      ["gets lost on its way", unread],
      ["commits, and its answer is dropped", unanswered],
      ["commits, and its answer breaks off", halfAnswered],
      ["commits, and its client leaves before the answer", clientLeaves(15_000)],
      ["gets a 503 without a code", refused(503)],
      ["finds the database asleep", noCompute],
    ])("has one effect of each call that %s and is sent again", async (_, fate) => {
      stopTime();
      const runId = crypto.randomUUID();
      const token = crypto.randomUUID();

      endpoint.next(fate);
      const started = await calls.startRun({ runId, workflow: "flow", version: 1, encodedInput: "01" });
      expect(started).toMatchObject({ outcome: "started", runId });

      endpoint.next(fate);
      const claimed = await calls.claimTurns({
        environment: "test",
        endpoint: calls.endpoint,
        versions: { flow: [1] },
        leaseMs: 60_000,
        maxClaims: 50,
        maxBeginnings: 5,
        turns: [{ runId, turn: 1, token, alone: false }],
      });
      expect(claimed.turns).toMatchObject([{ outcome: "claimed", turn: 1, records: null }]);

      endpoint.next(fate);
      const record = { kind: "step", path: "charge", occurrence: 0, value: "0true", at: claimed.now } as const;
      const finish = { runId, token, position: 0, next: "completed", value: "0true", records: [record] } as const;
      const finished = await calls.finishTurns([finish], []);
      expect(finished.turns).toMatchObject([{ outcome: "finished", status: "completed" }]);

      expect(endpoint.arrivals).toBe(1 + 2 * 3);
      expect((await calls.listRuns({ limit: 10, walk: 100 })).runs).toHaveLength(1);
      expect(await calls.getHistory({ runId })).toMatchObject({
        records: [{ path: "charge", attempts: 1, value: "0true" }],
        attempts: [],
      });
    });

    test("carries a run to its end, each step once and in its first attempt, though two of three requests fail", async () => {
      const bodies: string[] = [];
      const order = workflow({ name: "order", version: 1, input: z.number(), output: z.number() });
      const orderWorkflow = order.handler(async ({ input, step }) => {
        const charge = await step.run("charge", ({ attempt }) => {
          bodies.push(`charge ${attempt}`);
          return input + 1;
        });
        return await step.run("ship", ({ attempt }) => {
          bodies.push(`ship ${attempt}`);
          return charge * 2;
        });
      });
      const errors: unknown[] = [];
      const invocations: Promise<boolean>[] = [];
      const dispatch: Dispatch = async (turns) => void invocations.push(engine.carryOut(turns));
      const onError = (error: unknown) => void errors.push(error);
      const engine = new Engine({ calls, dispatch, registry: new Registry([orderWorkflow]), onError });
      const client = new Client({ calls, dispatch, wake: async () => {}, openCallback: undefined, onError });

      endpoint.next(...Array.from({ length: 20 }, () => [noCompute, unanswered, answered]).flat());
      const run = await client.start(order, 20);
      for (const invocation of invocations) await invocation;

      expect(await run.result()).toBe(42);
      expect(bodies).toEqual(["charge 1", "ship 1"]);
      expect((await run.history()).records.map(({ path, attempts }) => [path, attempts])).toEqual([
        ["charge", 1],
        ["ship", 1],
      ]);
      expect(errors).toEqual([]);
    });

    test("commits the writes of a step's transaction together with its record, in one request", async () => {
      await database.query("create table public.seat (name text not null)");
      const booking = workflow({ name: "booking", version: 1 });
      const bookingWorkflow = booking.handler(async ({ step }) => [
        await step.transaction("first", async (db) => db.write("insert into public.seat values ($1)", ["window"])),
        await step.transaction("second", async (db, { attempt }) => {
          db.write(
            attempt === 1 ? "insert into public.seat values (null)" : "insert into public.seat values ('aisle')",
          );
          return attempt;
        }),
      ]);
      const invocations: Promise<boolean>[] = [];
      const dispatch: Dispatch = async (turns) => void invocations.push(engine.carryOut(turns));
      const engine = new Engine({ calls, dispatch, registry: new Registry([bookingWorkflow]), host: aHastyHost() });
      const client = new Client({ calls, dispatch, wake: async () => {}, openCallback: undefined });
      const run = await client.start(booking);
      for (const invocation of invocations) await invocation;

      expect(await run.result()).toEqual([undefined, 2]);
      expect(await database.query("select name from public.seat")).toEqual([{ name: "window" }, { name: "aisle" }]);
      const batches = endpoint.bodies.filter((body) => JSON.stringify(body).includes("finish_once"));
      expect(batches).toMatchObject([{ queries: [{}, {}, {}] }, { queries: [{}, {}, {}] }, { queries: [{}, {}, {}] }]);
    });
  },
  { perTest: true },
);
