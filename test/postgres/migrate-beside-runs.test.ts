/** Migrating while runs go on: nobody waits long for a migration, and a migration says whom it waits for. */
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { HostClock } from "../../src/core/ports.ts";
import { migrate, migrationSql, type Wait } from "../../src/postgres/migrate.ts";
import type { PgClient } from "../../src/postgres/pg.ts";
import { aFunction, aSchema, type SchemaParts } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";

const start = `create or replace function layover.start() returns void language sql as $$
  insert into layover.run default values $$;`;
const first: SchemaParts = {
  migrations: { tables: "create table layover.run (id bigint generated always as identity primary key);" },
  functions: { start },
};
const wider: SchemaParts = {
  migrations: { ...first.migrations, more: "alter table layover.run add column name text;" },
  functions: { start, greet: aFunction("greet", "hello") },
};
const indexed: SchemaParts = {
  migrations: {
    ...first.migrations,
    index: "--! concurrent\n-- For the page of all runs.\ncreate index concurrently run_page on layover.run (id);\n",
  },
  functions: { start },
};

/** Pauses end at once, and are written down. */
function aHost(): { readonly host: HostClock; readonly pauses: number[] } {
  const pauses: number[] = [];
  const after = (ms: number, act: () => void) => {
    pauses.push(ms);
    setImmediate(act);
    return () => {};
  };
  return { host: { monotonic: () => 0, after }, pauses };
}

describeEachPostgres(
  "migrate beside runs",
  (database) => {
    const ask = async (text: string): Promise<unknown> => Object.values((await database.query(text))[0] ?? {})[0];

    async function aClient(name: string): Promise<Client> {
      const client = new Client({ connectionString: database.url, application_name: name });
      client.on("error", () => {});
      await client.connect();
      onTestFinished(async () => await client.end());
      return client;
    }

    test("lets runs start while a reader keeps it from a table, says who that is, and ends after the reader", async () => {
      await migrate(database.pool, aSchema(first));
      const reader = await aClient("a long report");
      const { rows } = await reader
        .query("begin; select * from layover.run; select pg_backend_pid() as pid", [])
        .then((answers) => (Array.isArray(answers) ? answers.at(-1) : answers));
      const { host, pauses } = aHost();
      const waits: Wait[] = [];
      let started = Promise.resolve();
      const onWait = (wait: Wait) => {
        waits.push(wait);
        if (waits.length > 3) return;
        // The pause ends while this start is under way; the reader leaves once three of them are through.
        started = started.then(async () => {
          await database.query("select layover.start()");
          if (waits.length === 3) await reader.query("commit");
        });
      };
      const source = { ...aSchema(wider), onWait, host };
      expect(await migrate(database.pool, source)).toEqual({ applied: ["0002_more"], functions: 2 });
      await started;
      expect(await ask("select count(*)::int from layover.run")).toBe(3);
      const [wait] = waits;
      expect(wait).toMatchObject({ reason: "locked", file: "migrations/0002_more.sql", pauseMs: 3_000 });
      expect(wait?.blockers).toEqual([{ pid: rows[0].pid, application: "a long report", openMs: expect.any(Number) }]);
      expect(pauses).toEqual(waits.map(() => 3_000));
    });

    test("names a prepared transaction, which no process holds", async () => {
      const allowed = await ask("select current_setting('max_prepared_transactions')::int");
      await migrate(database.pool, aSchema(first));
      const holder = await aClient("holder");
      await holder.query("begin; select layover.start()");
      if (Number(allowed) > 0) await holder.query("prepare transaction 'held'");
      const { host } = aHost();
      const waits: Wait[] = [];
      const onWait = (wait: Wait) => {
        waits.push(wait);
        void holder.query(Number(allowed) > 0 ? "rollback prepared 'held'" : "rollback");
      };
      await migrate(database.pool, { ...aSchema(wider), onWait, host });
      if (Number(allowed) > 0) expect(waits[0]?.blockers).toMatchObject([{ pid: null }]);
      else expect(waits[0]?.blockers).toMatchObject([{ application: "holder" }]);
    });

    test("writes functions while they are called, and waits for nobody", async () => {
      await migrate(database.pool, aSchema(first));
      const caller = await aClient("caller");
      await caller.query("begin; select layover.start()");
      const changed = { ...first, functions: { start: start.replace("default values", "default values -- again") } };
      const onWait = () => expect.unreachable("it waited");
      expect(await migrate(database.pool, { ...aSchema(changed), onWait })).toEqual({ applied: [], functions: 1 });
      await caller.query("commit");
    });

    test("builds an index while a run is being started, and writes it down", async () => {
      await migrate(database.pool, aSchema(first));
      const writer = await aClient("writer");
      await writer.query("begin; select layover.start()");
      const migrating = migrate(database.pool, aSchema(indexed));
      // It waits for the transaction that began before it, and holds nobody up.
      const waiting = "select count(*)::int from pg_locks where locktype = 'virtualxid' and not granted";
      await expect.poll(async () => await ask(waiting)).toBe(1);
      await database.query("select layover.start()");
      await writer.query("commit");
      expect(await migrating).toEqual({ applied: ["0002_index"], functions: 1 });
      expect(await ask("select indisvalid from pg_index where indexrelid = 'layover.run_page'::regclass")).toBe(true);
      expect(await migrate(database.pool, aSchema(indexed))).toEqual({ applied: [], functions: 0 });
    });

    test("builds an index anew that was cut off in the middle, and not again one that was only not written down", async () => {
      await migrate(database.pool, aSchema(first));
      const writer = await aClient("writer");
      await writer.query("begin; select layover.start()");
      const migrating = migrate(database.pool, aSchema(indexed)).catch((error: unknown) => error);
      const kill = `select pg_terminate_backend(pid) from pg_stat_activity a
        where query like 'create index concurrently%' and datname = current_database() and wait_event = 'virtualxid'`;
      await expect.poll(async () => (await database.query(kill)).length).toBe(1);
      expect(await migrating).toMatchObject({ sqlState: "57P01" });
      await writer.query("commit");
      expect(await ask("select indisvalid from pg_index where indexrelid = 'layover.run_page'::regclass")).toBe(false);

      expect(await migrate(database.pool, aSchema(indexed))).toEqual({ applied: ["0002_index"], functions: 1 });
      expect(await ask("select indisvalid from pg_index where indexrelid = 'layover.run_page'::regclass")).toBe(true);
      const file = await ask("select pg_relation_filenode('layover.run_page')");
      await database.query("delete from layover.migration where number = 2");
      expect(await migrate(database.pool, aSchema(indexed))).toMatchObject({ applied: ["0002_index"] });
      expect(await ask("select pg_relation_filenode('layover.run_page')")).toBe(file);
    });

    test("builds an index once, however many deployments start it at once", async () => {
      await migrate(database.pool, aSchema(first));
      const source = aSchema(indexed);
      const answers = await Promise.all(
        Array.from({ length: 8 }, async (_, number) => migrate(await aClient(`migrator ${number}`), source)),
      );
      expect(answers.flatMap(({ applied }) => applied)).toEqual(["0002_index"]);
      expect(answers.map(({ functions }) => functions).filter((count) => count > 0)).toEqual([1]);
      const held = `select count(*)::int from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`;
      expect(await ask(held)).toBe(0);
    });

    test("leaves the settings of a connection that it was lent as they were", async () => {
      const client = await aClient("lender");
      await client.query("set statement_timeout = '7s'; set lock_timeout = '3s'; set search_path = public");
      await migrate(client, aSchema(indexed));
      const { rows } = await client.query(
        "select array[current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('search_path')] as all",
      );
      expect(rows).toEqual([{ all: ["7s", "3s", "public"] }]);
    });

    test("refuses to build an index through a pooler", async () => {
      const client = await aClient("pooled");
      // A pooler tells its clients a process of its own making.
      const pooled: PgClient = { processID: 1, on: client.on.bind(client), query: client.query.bind(client) };
      await expect(migrate(pooled, aSchema(indexed))).rejects.toMatchObject({
        code: "pooled_connection",
        message:
          "migrations/0002_index.sql builds an index, and this connection leads through a pooler. " +
          "Give migrate the address of the server itself, not that of PgBouncer or another pooler.",
      });
    });

    test("refuses a file that begins as an index and holds more", async () => {
      const migrations = { tables: "--! concurrent\ncreate index concurrently a on layover.run (id); drop table b;" };
      await expect(migrate(database.pool, aSchema({ migrations }))).rejects.toMatchObject({ code: "bad_migrations" });
    });

    test("builds the index within the transaction where the SQL is run by hand", async () => {
      await database.pool.query(migrationSql(aSchema(indexed)));
      expect(await ask("select indisvalid from pg_index where indexrelid = 'layover.run_page'::regclass")).toBe(true);
      expect(await migrate(database.pool, aSchema(indexed))).toEqual({ applied: [], functions: 0 });
    });

    test("run by hand while another migrate is under way, it changes nothing and says so", async () => {
      const holder = await aClient("holder");
      await holder.query("begin; select pg_advisory_xact_lock(7812089, 1)");
      await expect(database.pool.query(migrationSql(aSchema(first)))).rejects.toThrow(
        "another migrate of this database is under way: run this again when it has ended",
      );
    });
  },
  { perTest: true, isEmpty: true },
);
