/** The adapter for Neon: a statement is one request over HTTP, and layover runs over it, each call with one effect. */
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Dispatch } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { aHastyHost } from "../client/a-client.ts";
import { describeEachPostgres, postgresUrl, testDatabase } from "./database.ts";
import { emptyDatabase } from "./fresh-database.ts";
import {
  answered,
  asleep,
  type Fate,
  halfAnswered,
  type NeonEndpoint,
  openNeonEndpoint,
  refused,
  unanswered,
  unread,
} from "./neon-endpoint.ts";
import { clientLeaves, noCompute, over, stopTime } from "./over-neon.ts";
import { describeQuery } from "./query-conformance.ts";

const passwords: string[] = [];

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

    test.each([
      ["before another step", true],
      ["that is the last step", false],
    ])("finishes a transaction %s as ready, and claims nothing", async (_, isMore) => {
      const booking = workflow({ name: "booking", version: 1 });
      const bookingWorkflow = booking.handler(async ({ step }) => {
        await step.transaction("book", async (db) => db.write("select 1"));
        return isMore && (await step.run("ship", () => true));
      });
      const invocations: Promise<boolean>[] = [];
      const dispatch: Dispatch = async (turns) => void invocations.push(engine.carryOut(turns));
      const engine = new Engine({ calls, dispatch, registry: new Registry([bookingWorkflow]), host: aHastyHost() });
      const client = new Client({ calls, dispatch, wake: async () => {}, openCallback: undefined });
      const run = await client.start(booking);
      for (const invocation of invocations) await invocation;

      expect(await run.result()).toBe(isMore);
      const [turn, ...others] = endpoint.bodies.flatMap(turnsFinishedOnce);
      expect(turn).toMatchObject({ runId: run.runId, next: "ready", records: [{ path: "book" }] });
      expect(turn).not.toHaveProperty("claim");
      expect(others).toEqual([]);
    });
  },
  { perTest: true },
);

/** The turns that a request finishes together with a transaction. */
function turnsFinishedOnce(body: unknown): object[] {
  const batch = z.object({ queries: z.array(z.object({ query: z.string(), params: z.array(z.unknown()) })) });
  const call = z.object({ turn: z.looseObject({}) });
  const { queries } = batch.safeParse(body).data ?? { queries: [] };
  return queries
    .filter(({ query }) => query.includes("finish_once"))
    .map(({ params }) => call.parse(JSON.parse(String(params[0]))).turn);
}
