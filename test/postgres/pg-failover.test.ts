import { Pool } from "pg";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "./database.ts";
import { failureOf } from "./query-conformance.ts";

describe("after a failover", () => {
  const database = testDatabase({ perTest: true, isEmpty: true });
  afterEach(() => void vi.useRealTimers());

  test("one failure has all connections ended that are as old, each when its turn comes", async () => {
    const { query, pool, write } = await aPool(5);
    for (const client of await Promise.all([1, 2, 3, 4, 5].map(() => pool.connect()))) {
      await client.query("set default_transaction_read_only = on"); // as on the server that was the primary once
      client.release();
    }
    expect((await failureOf(write())).sqlState).toBe("25006");
    await Promise.all([1, 2, 3, 4, 5].map(write));
    expect(await query("select count(*)::int from written")).toEqual([{ count: 5 }]);
  });

  test("to a server that stays read-only, connections are made anew once in 5 s, and not for each call", async () => {
    const { pool, write } = await aPool(3);
    await setReadOnly("on");
    await Promise.all([1, 2, 3].map(async () => (await pool.connect()).release(true)));
    vi.useFakeTimers({ toFake: ["performance"] });
    const processes = new Set<unknown>();
    pool.on("connect", (client) => processes.add(client));
    const writeInVain = async () => {
      for (let round = 0; round < 5; round += 1) {
        const failures = await Promise.all([1, 2, 3].map(() => failureOf(write())));
        expect(failures.map(({ sqlState }) => sqlState)).toEqual(["25006", "25006", "25006"]);
      }
    };
    await writeInVain();
    const sofar = processes.size;
    expect(sofar).toBeLessThanOrEqual(6);
    vi.advanceTimersByTime(4_999);
    await writeInVain();
    expect(processes.size).toBe(sofar);

    await setReadOnly("off");
    vi.advanceTimersByTime(1);
    await failureOf(write());
    await Promise.all([1, 2, 3].map(write));
  });

  test("a plan that no longer fits is forgotten with its connection", async () => {
    const { pool, query } = await aPool(1);
    await pool.query("create table shape (a integer)");
    await query("select * from shape");
    await pool.query("alter table shape add b integer");
    expect(await failureOf(query("select * from shape"))).toMatchObject({ sqlState: "0A000", isRolledBack: true });
    expect(await query("select * from shape")).toEqual([]);
  });

  /** Sets whether connections that are made later are read-only. */
  async function setReadOnly(value: "on" | "off"): Promise<void> {
    const name = new URL(database.url).pathname.slice(1);
    const change = `alter database ${name} set default_transaction_read_only = ${value}`;
    await database.pool.query(`begin read write; ${change}; commit`);
  }

  async function aPool(max: number) {
    const pool = new Pool({ connectionString: database.url, max });
    onTestFinished(() => pool.end());
    const query = pg(pool);
    await query("create table written (at timestamptz)");
    return { pool, query, write: () => query("insert into written values (now())") };
  }
});
