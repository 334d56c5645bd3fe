import { Pool } from "pg";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type PgOptions, pg, pgTransaction } from "../../src/postgres/pg.ts";
import { testDatabase } from "./database.ts";
import { failureOf } from "./query-conformance.ts";
import { openWire } from "./wire.ts";

describe("an answer that never comes", () => {
  const database = testDatabase({ isEmpty: true });
  afterEach(() => void vi.useRealTimers());

  test("is waited for 15 s; then its connection is ended, and another one does the work", async () => {
    const { query, pool, wire } = await aSilentWire();
    const silent = failureOf(query("select 1"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(14_999);
    expect(pool.totalCount).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await silent).toMatchObject({
      message: "Postgres did not answer within 15000 ms.",
      isRolledBack: false,
      sqlState: undefined,
    });
    expect(pool.totalCount).toBe(0);
    wire.speak();
    expect(await query("select 2 as two")).toEqual([{ two: 2 }]);
  });

  test("leaves no connection idle that is as old as the silent one", async () => {
    const { query, wire } = await aSilentWire({ connections: 3 });
    const silent = failureOf(query("select 1"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(15_000);
    await silent;
    // The other two are silent for ever, as after a failover without a farewell. New ones are not.
    wire.speak("newcomers");
    expect(await query("select 2 as two")).toEqual([{ two: 2 }]);
  });

  test("is waited for as long as the options say", async () => {
    const { query, wire } = await aSilentWire({ timeoutMs: 2_000 });
    const silent = failureOf(query("select 1"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(2_000);
    expect((await silent).message).toBe("Postgres did not answer within 2000 ms.");
  });

  test("ends a client of one's own, too, so that no pool lends it to others", async () => {
    const wire = await openWire(database.url);
    onTestFinished(() => wire.close());
    const pool = new Pool({ connectionString: wire.url });
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    const client = await pool.connect();
    const query = pg(client);
    await query("select 1");
    wire.hush();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const silent = failureOf(query("select 1"));
    const next = failureOf(query("select 2"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(15_000);
    expect((await silent).isRolledBack).toBe(false);
    expect((await next).isRolledBack).toBe(true);
    client.release();
    expect(pool.totalCount).toBe(0);
  });

  test("does not cut a migration", async () => {
    const wire = await openWire(database.url);
    onTestFinished(() => wire.close());
    const pool = new Pool({ connectionString: wire.url });
    onTestFinished(() => pool.end());
    await pool.query("select 1");
    wire.hush();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const slow = pgTransaction(pool)((script) => script("select 1 as one"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(10 * 60_000);
    wire.speak();
    expect(await slow).toEqual([{ one: 1 }]);
  });

  test("to a connection that is being made ends that, so that the pool has its place again", async () => {
    const wire = await openWire(database.url);
    onTestFinished(() => wire.close());
    const pool = new Pool({ connectionString: wire.url, max: 1 });
    onTestFinished(() => pool.end());
    const query = pg(pool);
    wire.hush();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const first = failureOf(query("select 1"));
    const waiting = failureOf(query("select 1"));
    await expect.poll(() => wire.held).toBeGreaterThan(0);
    vi.advanceTimersByTime(15_000);
    for (const failed of [await first, await waiting]) {
      expect(failed).toMatchObject({ isRolledBack: true, sqlState: undefined });
      expect(failed.message).toContain("no connection to Postgres within 15000 ms");
    }
    vi.useRealTimers();
    await expect.poll(() => pool.totalCount).toBe(0);
    wire.speak();
    expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  /** A pool that has connections already, over a wire that passes nothing on from now on; time stands still. */
  async function aSilentWire({ connections = 1, ...options }: PgOptions & { connections?: number } = {}) {
    const wire = await openWire(database.url);
    onTestFinished(() => wire.close());
    const pool = new Pool({ connectionString: wire.url });
    onTestFinished(() => void pool.end());
    const query = pg(pool, options);
    await Promise.all(Array.from({ length: connections }, () => query("select 1")));
    wire.hush();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    return { query, pool, wire };
  }
});
