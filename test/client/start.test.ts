import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";
import { QueryError } from "../../src/core/ports.ts";
import { testDatabase } from "../postgres/database.ts";
import { aClient, aHastyHost } from "./a-client.ts";
import { faces } from "./faces.ts";

const input = z.object({ id: z.string(), amount: z.number().positive().default(1) });
const order = workflow({ name: "order", version: 1, input });
const newerOrder = workflow({ name: "order", version: 2, input });
const plain = workflow({ name: "plain", version: 3, timeout: "1 hour" });
const contracts: readonly Contract[] = [order, newerOrder, plain];

describe.each(faces)("start, $face", ({ open }) => {
  const database = testDatabase();

  it("stores what the schema makes of the input, parsed once", async () => {
    let parses = 0;
    const counted = workflow({
      name: "counted",
      version: 1,
      input: z.string().transform((text) => {
        parses += 1;
        return new Date(text);
      }),
    });
    const { client } = open(database.query, [counted]);
    const run = await client.start(counted, "2026-01-01T00:00:00Z");
    expect((await run.get()).input).toEqual(new Date("2026-01-01T00:00:00Z"));
    expect(parses).toBe(1);
  });

  it("answers the same run for the same id and input, and says that it is not new", async () => {
    const { client, dispatches } = open(database.query, contracts);
    const first = await client.start(order, { id: "o1" }, { id: "o1" });
    const again = await client.start(order, { id: "o1", amount: 1 }, { id: "o1" });
    expect(again.runId).toBe(first.runId);
    expect([first.isNew, again.isNew]).toEqual([true, false]);
    expect(dispatches).toHaveLength(1);
  });

  it("knows what was sent before, though its schema makes something new of it each time", async () => {
    const drawn = workflow({
      name: "drawn",
      version: 1,
      input: z.object({ id: z.string(), key: z.uuid().default(() => v7()) }),
    });
    const { client } = open(database.query, [drawn]);
    const runId = v7();
    const first = await client.start(drawn, { id: "o1" }, { id: "o1", runId });
    const lost = await client.start(drawn, { id: "o1" }, { id: "o1", runId });
    const again = await client.start(drawn, { id: "o1" }, { id: "o1" });
    expect([first, lost, again].map((run) => run.runId)).toEqual([runId, runId, runId]);
    expect([first, lost, again].map(({ isNew }) => isNew)).toEqual([true, true, false]);
    const plain = workflow({ name: "drawn", version: 2, input: z.object({ id: z.string() }) });
    const drawsNothing = open(database.query, [plain]).client;
    expect((await drawsNothing.start(plain, { id: "o1" }, { id: "o1" })).runId).toBe(runId);
    const { runId: other } = await drawsNothing.start(plain, { id: "o3" }, { id: "o3" });
    expect((await client.start(drawn, { id: "o3" }, { id: "o3" })).runId).toBe(other);
    await expect(client.start(drawn, { id: "o2" }, { id: "o1" })).rejects.toMatchObject({ code: "input_conflict" });
    await expect(client.start(drawn, { id: "o2" }, { runId })).rejects.toMatchObject({ code: "input_conflict" });
  });

  it("refuses an id that is taken by a run with another input", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(order, { id: "o2" }, { id: "o2" });
    await expect(client.start(order, { id: "other" }, { id: "o2" })).rejects.toMatchObject({
      code: "input_conflict",
      message: 'the id "o2" is taken by a run with another input',
      details: { workflow: "order", id: "o2", runId },
    });
  });

  it("answers the run that is there, of whatever version: a start may be repeated after a deploy", async () => {
    const { client } = open(database.query, contracts);
    const first = await client.start(order, { id: "o9" }, { id: "o9" });
    const again = await client.start(newerOrder, { id: "o9" }, { id: "o9" });
    expect(again).toMatchObject({ runId: first.runId, isNew: false, version: 1 });
  });

  it("takes an input for the same whatever the order of its keys", async () => {
    const anything = workflow({ name: "anything", version: 1, input: z.unknown() });
    const { client } = open(database.query, [anything]);
    const { runId } = await client.start(anything, { a: 1, b: { c: 2, d: [3, 4] } }, { id: "keys" });
    expect((await client.start(anything, { b: { d: [3, 4], c: 2 }, a: 1 }, { id: "keys" })).runId).toBe(runId);
    for (const other of [{ a: 1, b: { c: 2, d: [4, 3] } }, { a: 1, b: { c: 2 } }, "\u0000"]) {
      const start = client.start(anything, other, { id: "keys" });
      await expect(start).rejects.toMatchObject({ code: "input_conflict" });
    }
  });

  it("is the same call when it is made again with the same run id", async () => {
    const { client } = open(database.query, contracts);
    const runId = v7();
    const first = await client.start(order, { id: "o3" }, { runId });
    const again = await client.start(order, { id: "o3" }, { runId });
    expect(again).toMatchObject({ runId, isNew: true });
    expect(first.isNew).toBe(true);
    expect((await client.list({ workflow: "order" })).runs.filter((run) => run.runId === runId)).toHaveLength(1);
  });

  it("starts one run, and dispatches it, when the answer to the first sending was lost", async () => {
    let isLost = false;
    const { client, dispatches } = open(database.query, contracts, {
      wrapQuery: (query) =>
        Object.assign(
          async (...[text, parameters]: Parameters<typeof query>) => {
            const rows = await query(text, parameters);
            if (!text.includes("start_run") || isLost) return rows;
            isLost = true;
            throw new QueryError("the connection broke", { isRolledBack: false });
          },
          { endpoint: query.endpoint },
        ),
    });
    const run = await client.start(order, { id: "lost" }, { id: "lost", tags: { once: "yes" } });
    expect(run.isNew).toBe(true);
    expect((await client.list({ tags: { once: "yes" } })).runs).toHaveLength(1);
    expect(dispatches).toEqual([{ turns: [{ runId: run.runId, turn: 1 }], delayMs: 0 }]);
  });

  it("asks for the first turn at once, after a short delay, or not at all when the alarm will do", async () => {
    const { client, dispatches, armed } = open(database.query, contracts);
    const now = await client.start(plain);
    const soon = await client.start(plain, undefined, { delay: "1 min" });
    const later = await client.start(plain, undefined, { delay: "3 days" });
    expect(dispatches).toEqual([
      { turns: [{ runId: now.runId, turn: 1 }], delayMs: 0 },
      { turns: [{ runId: soon.runId, turn: 1 }], delayMs: 60_000 },
    ]);
    const { readyAt, dueAt, timeoutAt, status } = await later.get();
    expect(status).toBe("sleeping");
    const early = Number(readyAt) - Number(dueAt);
    expect(early).toBeGreaterThanOrEqual(0);
    expect(early).toBeLessThan(60_000);
    expect(Number(dueAt) % 60_000).toBe(0);
    expect(armed).toContain(dueAt?.getTime());
    expect(Number(timeoutAt) - Number(readyAt)).toBe(3_600_000);
  });

  it("takes a date to start at, and the past as now", async () => {
    const { client } = open(database.query, contracts);
    const at = new Date(Date.now() + 86_400_000);
    const tomorrow = await client.start(plain, undefined, { startAt: at });
    const longAgo = await client.start(plain, undefined, { startAt: new Date("1990-01-01") });
    expect((await tomorrow.get()).readyAt).toEqual(at);
    expect(Number((await longAgo.get()).readyAt)).toBeGreaterThan(Date.now() - 60_000);
  });

  it("loses nothing when the dispatch fails, and tells of it", async () => {
    const errors: unknown[] = [];
    const { client } = open(database.query, contracts, {
      dispatch: async () => {
        throw new Error("the queue is down");
      },
      onError: (error) => errors.push(error),
    });
    const run = await client.start(plain);
    expect((await run.get()).status).toBe("queued");
    expect(errors).toEqual([new Error("the queue is down")]);
  });

  it("keeps id, tags and trace context, and leaves a malformed trace context out", async () => {
    const { client } = open(database.query, contracts);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const run = await client.start(plain, undefined, { id: "tagged", tags: { customer: "c1" }, traceparent });
    await client.start(plain, undefined, { id: "untraced", traceparent: "00-nonsense\n" });
    expect(await run.get()).toMatchObject({ id: "tagged", tags: { customer: "c1" }, workflow: "plain", version: 3 });
    const { rows } = await database.pool.query(
      "select user_id, traceparent from layover.run where user_id in ('tagged', 'untraced') order by 1",
    );
    expect(rows).toEqual([
      { user_id: "tagged", traceparent },
      { user_id: "untraced", traceparent: null },
    ]);
  });

  it("writes nothing when anything is wrong with what it was given", async () => {
    const { client } = open(database.query, contracts);
    const count = async () => (await database.pool.query("select count(*)::int as n from layover.run")).rows[0].n;
    const before = await count();
    const start = (contract: Contract, input: unknown, options: object) => client.start(contract, input, options);
    const untyped = order as unknown as Contract;
    const cases: [() => Promise<unknown>, string][] = [
      [() => start(untyped, { id: 1 }, {}), "invalid_input"],
      [() => start(untyped, undefined, {}), "invalid_input"],
      [() => start(plain as unknown as Contract, { some: "input" }, {}), "invalid_input"],
      [() => start(untyped, { id: "x" }, { id: "" }), "invalid_name"],
      [() => start(untyped, { id: "x" }, { id: "a\u0000b" }), "invalid_name"],
      [() => start(untyped, { id: "x" }, { id: "\ud800" }), "invalid_name"],
      [() => start(untyped, { id: "x" }, { delay: "soon" }), "invalid_duration"],
      [() => start(untyped, { id: "x" }, { delay: "11 years" }), "invalid_duration"],
      [() => start(untyped, { id: "x" }, { startAt: Number.NaN }), "invalid_duration"],
      [() => start(untyped, { id: "x" }, { startAt: new Date("9999-01-01") }), "invalid_duration"],
      [() => start(untyped, { id: "x" }, { startAt: -1e15 }), "invalid_duration"],
      [() => start(untyped, { id: "x" }, { delay: 1, startAt: new Date() }), "invalid_request"],
      [() => start(untyped, { id: "x" }, { tags: { a: "\u0000" } }), "invalid_name"],
      [() => start(untyped, { id: "x" }, { tags: { "": "a" } }), "invalid_name"],
      [
        () => start(untyped, { id: "x" }, { tags: Object.fromEntries([...Array(51).keys()].map((n) => [n, "v"])) }),
        "invalid_request",
      ],
      [() => start(untyped, { id: "x" }, { runId: "42" }), "invalid_request"],
      [() => start(untyped, { id: "x" }, { runId: crypto.randomUUID() }), "invalid_request"],
      [() => start(untyped, { id: "x".repeat(1024 * 1024) }, {}), "value_too_large"],
    ];
    for (const [begin, code] of cases) await expect(begin()).rejects.toMatchObject({ name: "LayoverError", code });
    expect(await count()).toBe(before);
  });

  it("keeps what is hard to keep: NUL, lone surrogates, -0, big numbers, a key __proto__", async () => {
    const anything = workflow({ name: "anything", version: 1, input: z.unknown() });
    const { client } = open(database.query, [anything]);
    const input = {
      nul: "\u0000",
      lone: "\ud800",
      zero: -0,
      big: 2n ** 70n,
      map: new Map([["a", new Date(0)]]),
      hidden: JSON.parse('{"__proto__": 1}'),
    };
    const run = await client.start(anything, input);
    expect((await run.get()).input).toEqual(input);
  });

  it("answers database_unavailable when the database is not there", async () => {
    const query = Object.assign(
      async () => {
        throw new QueryError("connection refused", { isRolledBack: true });
      },
      { endpoint: "nowhere" },
    );
    const { client } = open(query, contracts, { host: aHastyHost() });
    await expect(client.start(plain)).rejects.toMatchObject({ code: "database_unavailable" });
  });
});

describe("start", () => {
  it("says what to do when layover is not installed", async () => {
    const query = Object.assign(
      async () => {
        throw new QueryError('schema "layover" does not exist', { isRolledBack: true, sqlState: "3F000" });
      },
      { endpoint: "nowhere" },
    );
    await expect(aClient(query).client.start(plain)).rejects.toMatchObject({ hint: "Run `npx layover migrate`." });
  });
});
