import { inspect } from "node:util";
import { Pool as NeonPool } from "@neondatabase/serverless";
import { Client, Pool, types } from "pg";
import { afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { type PgOptions, pg } from "../../src/postgres/pg.ts";
import { describeEachPostgres, postgresUrl, testDatabase } from "./database.ts";
import { emptyDatabase } from "./fresh-database.ts";
import { describeQuery, failureOf } from "./query-conformance.ts";
import { openWire } from "./wire.ts";

const passwords: string[] = [];

for (const version of inject("postgres").versions) {
  const variants: [string, PgOptions][] = [
    ["prepared statements", {}],
    ["nothing prepared", { prepare: false }],
  ];
  for (const [how, options] of variants) {
    describeQuery({
      name: `node-postgres' pool with ${how} (${version})`,
      endpoint: /^127\.0\.0\.1\/layover_test_\w+$/,
      secrets: () => passwords,
      async open() {
        const { url, drop } = await emptyDatabase(await postgresUrl(version));
        passwords.push(new URL(url).password);
        const pool = new Pool({ connectionString: url });
        return {
          query: pg(pool, options),
          async close() {
            await pool.end();
            await drop();
          },
        };
      },
    });
  }
}

describeQuery({
  name: "node-postgres' client",
  endpoint: /^127\.0\.0\.1\/layover_test_\w+$/,
  secrets: () => passwords,
  async open() {
    const { url, drop } = await emptyDatabase(await postgresUrl(inject("postgres").versions.at(-1) ?? "18"));
    passwords.push(new URL(url).password);
    const client = new Client(url);
    await client.connect();
    return {
      query: pg(client),
      async close() {
        await client.end();
        await drop();
      },
    };
  },
});

describeEachPostgres(
  "a connection that breaks",
  (database) => {
    test("under a statement leaves open whether it took effect, and is replaced", async () => {
      const sleeping = failureOf(database.query("select pg_sleep(30)"));
      await killWhoever("query like '%pg_sleep%' and state = 'active'");
      const failed = await sleeping;
      expect(failed).toMatchObject({ sqlState: "57P01", isRolledBack: false });
      expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
    });

    test("by its own statement was sent that statement once", async () => {
      await database.pool.query("create sequence calls");
      const suicide = database.query("select nextval('calls'), pg_terminate_backend(pg_backend_pid())");
      expect((await failureOf(suicide)).isRolledBack).toBe(false);
      expect(await database.query("select last_value::int, is_called from calls")).toEqual([
        { last_value: 1, is_called: true },
      ]);
    });

    test("without a farewell leaves open whether the statement took effect, and disturbs nobody else", async () => {
      const wire = await openWire(database.url);
      const pool = new Pool({ connectionString: wire.url });
      const query = pg(pool);
      const sleeping = failureOf(query("select pg_sleep(30)"));
      await expect.poll(async () => await isAtWork("pg_sleep")).toBe(true);
      wire.cut();
      expect(await sleeping).toMatchObject({ sqlState: undefined, isRolledBack: false });
      expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
      await pool.end();
      wire.close();
    });

    test("as soon as it is made disturbs nobody", async () => {
      const wire = await openWire(database.url);
      const pool = new Pool({ connectionString: wire.url, application_name: "short-lived" });
      const query = pg(pool);
      wire.keepAnswers();
      const failing = failureOf(query("select 1"));
      await killWhoever("application_name = 'short-lived' and state = 'idle'");
      // Postgres is heard to say that it is ready and that it ends the connection in one piece.
      await expect.poll(async () => await isConnected("short-lived")).toBe(false);
      wire.passAnswers();
      expect(await failing).toMatchObject({ sqlState: undefined, isRolledBack: false });
      expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
      await pool.end();
      wire.close();
    });

    test("while idle disturbs nobody", async () => {
      await Promise.all([database.query("select 1"), database.query("select 2")]);
      await killWhoever("pid <> pg_backend_pid()");
      await expect.poll(() => database.pool.totalCount).toBe(0);
      expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
    });

    test("as a client of one's own is not used again: what comes after has not happened", async () => {
      const client = new Client(database.url);
      await client.connect();
      const query = pg(client);
      const sleeping = failureOf(query("select pg_sleep(30)"));
      const waiting = failureOf(query("select 1"));
      await killWhoever("query like '%pg_sleep%' and state = 'active'");
      expect((await sleeping).isRolledBack).toBe(false);
      expect(await waiting).toMatchObject({ isRolledBack: true, sqlState: undefined });
    });

    test("when the whole server is told to cancel a statement rolls back, and stays", async () => {
      const sleeping = failureOf(database.query("select pg_sleep(30)"));
      // Before it sleeps, Postgres may still read the parts of the call, and then it ignores a cancel.
      await killWhoever("wait_event = 'PgSleep'", "pg_cancel_backend");
      expect(await sleeping).toMatchObject({ sqlState: "57014", isRolledBack: true });
      expect(database.pool.totalCount).toBe(1);
    });

    async function isAtWork(text: string): Promise<boolean> {
      const statement =
        "select from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1";
      return (await database.query(statement, [`%${text}%`])).length > 0;
    }

    async function isConnected(name: string): Promise<boolean> {
      const statement = "select from pg_stat_activity where application_name = $1";
      return (await database.query(statement, [name])).length > 0;
    }

    async function killWhoever(condition: string, how = "pg_terminate_backend"): Promise<void> {
      const killer = new Client(database.url);
      await killer.connect();
      const text = `select ${how}(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and ${condition}`;
      await expect.poll(async () => (await killer.query(text)).rowCount).toBeGreaterThan(0);
      await killer.end();
    }
  },
  { perTest: true, isEmpty: true },
);

describe("a connection that cannot be made has done nothing, and keeps its password", () => {
  let url: URL;
  const opened: Pool[] = [];
  beforeAll(async () => {
    url = new URL(await postgresUrl(inject("postgres").versions.at(-1) ?? "18"));
  });
  afterEach(async () => {
    for (const pool of opened.splice(0)) await pool.end();
  });

  function aPool(change: (url: URL) => void): Query {
    const changed = new URL(url);
    changed.password = "hush-hush";
    change(changed);
    const pool = new Pool({ connectionString: changed.href });
    opened.push(pool);
    return pg(pool);
  }

  test.each<[string, (url: URL) => void, string | undefined]>([
    ["nobody listens", (changed) => (changed.port = "1"), undefined],
    ["there is no such host", (changed) => (changed.hostname = "no-such-host.invalid"), undefined],
    ["the password is wrong", () => {}, "28P01"],
    [
      "there is no such database",
      (changed) => {
        changed.password = url.password;
        changed.pathname = "/nowhere";
      },
      "3D000",
    ],
  ])("%s", async (_, change, sqlState) => {
    const failed = await failureOf(aPool(change)("select 1"));
    expect(failed).toMatchObject({ isRolledBack: true, sqlState });
    expect(failed.message).not.toBe("");
    const visible = inspect(failed, { depth: 10, showHidden: true });
    expect(visible).not.toContain("hush-hush");
    expect(visible).not.toContain(url.password);
  });

  test("the pool has no connection left in time", async () => {
    const pool = new Pool({ connectionString: url.href, max: 1 });
    opened.push(pool);
    const query = pg(pool);
    const lent = await pool.connect();
    pool.options.connectionTimeoutMillis = 50;
    expect(await failureOf(query("select 1"))).toMatchObject({ isRolledBack: true, sqlState: undefined });
    lent.release();
    expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});

describe("statements", () => {
  const database = testDatabase({ perTest: true, isEmpty: true });
  const oneConnection = () => {
    const pool = new Pool({ connectionString: database.url, max: 1 });
    onTestFinished(async () => await pool.end());
    return pool;
  };
  const prepared = "select name, statement from pg_prepared_statements where name like 'layover_%' order by name";

  test("are prepared once for each text, under a name that every process gives it", async () => {
    const pool = oneConnection();
    const query = pg(pool);
    for (const parameter of [1, 2, 3]) await query("select $1::int", [parameter]);
    expect((await pool.query(prepared)).rows).toEqual([
      { name: "layover_64094a521aefc65c2da93d0e", statement: "select $1::int" },
    ]);
  });

  test("are not prepared behind a transaction pooler", async () => {
    const pool = oneConnection();
    const query = pg(pool, { prepare: false });
    await query("select $1::int", [1]);
    await query("select 1");
    expect((await pool.query(prepared)).rows).toEqual([]);
  });

  test("that a pooler lost say what to do about it", async () => {
    const pool = oneConnection();
    const query = pg(pool);
    await query("select 1");
    await pool.query("deallocate all");
    const failed = await failureOf(query("select 1"));
    expect(failed).toMatchObject({ sqlState: "26000", isRolledBack: true });
    expect(failed.message).toContain("pg(pool, { prepare: false })");
  });

  test("answer alike whatever the user told node-postgres about types", async () => {
    const before = types.getTypeParser(types.builtins.JSON);
    types.setTypeParser(types.builtins.JSON, (text) => `my own ${text}`);
    onTestFinished(() => types.setTypeParser(types.builtins.JSON, before));
    expect(await database.query("select '[1]'::json as value")).toEqual([{ value: [1] }]);
  });

  test("that go wrong do not cost the pool its connection", async () => {
    const pool = oneConnection();
    const query = pg(pool);
    const [before] = await query("select pg_backend_pid() as pid");
    await failureOf(query("select 1 / 0"));
    expect(await query("select pg_backend_pid() as pid")).toEqual([before]);
  });
});

test("an endpoint can be given where the address does not tell", () => {
  const client = new Client("postgres://u@hyperdrive.local/db");
  expect(pg(client).endpoint).toBe("hyperdrive.local/db");
  expect(pg(client, { endpoint: "production" }).endpoint).toBe("production");
});

test("the pool of Neon's driver is one, too", () => {
  const pool = new NeonPool({ connectionString: "postgres://u:p@ep-a-1-pooler.eu.aws.neon.tech/main" });
  expect(pg(pool).endpoint).toBe("ep-a-1.eu.aws.neon.tech/main");
});
