/** migrate brings a database up: once, in order, file by file, and beside what is there already. */
import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { migrate, type Wait } from "../../src/postgres/migrate.ts";
import { pglite } from "../../src/postgres/pglite.ts";
import { aFunction, aSchema } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";
import { aPool, failureOf, first, second } from "./migrating.ts";
import { dumpSchema } from "./schema-dump.ts";

describeEachPostgres(
  "migrate",
  (database) => {
    const ask = async (text: string): Promise<unknown> => Object.values((await database.query(text))[0] ?? {})[0];

    test("brings an empty database up, and finds nothing to do the second time", async () => {
      const source = aSchema(second);
      expect(await migrate(database.pool, source)).toEqual({ applied: ["0001_tables", "0002_more"], functions: 2 });
      expect(await ask("select layover.greet()")).toBe("good day");
      const before = await dumpSchema(database.query);
      expect(await migrate(database.pool, source)).toEqual({ applied: [], functions: 0 });
      expect(await dumpSchema(database.query)).toBe(before);
    });

    test("applies what is new, in order, and writes the functions that changed", async () => {
      await migrate(database.pool, aSchema(first));
      await database.query("insert into layover.run values (1)");
      expect(await migrate(database.pool, aSchema(second))).toEqual({ applied: ["0002_more"], functions: 2 });
      expect(await ask("select count(*)::int from layover.run where name is null")).toBe(1);
      expect(await ask("select layover.greet()")).toBe("good day");
    });

    test("writes functions again when only they changed", async () => {
      await migrate(database.pool, aSchema(first));
      const changed = { ...first, functions: { greet: aFunction("greet", "hi") } };
      expect(await migrate(database.pool, aSchema(changed))).toEqual({ applied: [], functions: 1 });
      expect(await ask("select layover.greet()")).toBe("hi");
    });

    test("writes functions again after a migration, which may have dropped them to change what they answer", async () => {
      await migrate(database.pool, aSchema(first));
      const migrations = { ...first.migrations, drop: "drop function layover.greet();" };
      expect(await migrate(database.pool, aSchema({ ...first, migrations }))).toEqual({
        applied: ["0002_drop"],
        functions: 1,
      });
      expect(await ask("select layover.greet()")).toBe("hello");
    });

    test("leaves a function alone whose file is gone: old code may still call it", async () => {
      await migrate(database.pool, aSchema(second));
      await migrate(database.pool, aSchema({ ...second, functions: {} }));
      expect(await ask("select layover.part()")).toBe("bye");
    });

    test("takes functions that call others which come later, and tables that they name", async () => {
      const functions = {
        a: `create or replace function layover.a() returns text language sql as 'select layover.b()';`,
        b: `create or replace function layover.b() returns text language sql as 'select id::text from layover.run';`,
      };
      await migrate(database.pool, aSchema({ ...first, functions }));
      expect(await ask("select layover.a()")).toBeNull();
    });

    test("is done once, however many deployments start it at once", async () => {
      const source = aSchema(second);
      const pools = Array.from({ length: 20 }, () => aPool({ connectionString: database.url, max: 1 }));
      const answers = await Promise.all(pools.map(async (pool) => await migrate(pool, source)));
      for (const pool of pools) await pool.end();
      expect(answers.flatMap(({ applied }) => applied).toSorted()).toEqual(["0001_tables", "0002_more"]);
      expect(answers.map(({ functions }) => functions).filter((count) => count > 0)).toEqual([2]);
    });

    test("is done once even where the database's default isolation is repeatable read", async () => {
      await database.query(
        "do $$ begin execute format('alter database %I set default_transaction_isolation = ''repeatable read''', current_database()); end $$",
      );
      const source = aSchema(first);
      const pools = Array.from({ length: 5 }, () => aPool({ connectionString: database.url, max: 1 }));
      await Promise.all(pools.map(async (pool) => await migrate(pool, source)));
      for (const pool of pools) await pool.end();
    });

    test("keeps what came before a file that fails, and nothing of that file; says which and where", async () => {
      await migrate(database.pool, aSchema(first));
      const migrations = { ...second.migrations, broken: "create table layover.half (id integer);\n\nselekt 1;\n" };
      const failed = await failureOf(migrate(database.pool, aSchema({ ...second, migrations })));
      expect(failed).toMatchObject({
        code: "migration_failed",
        message:
          'migrations/0003_broken.sql:3 failed: syntax error at or near "selekt". ' +
          "Nothing of this file took effect. Once it is put right, migrate goes on from there.",
      });
      expect(await ask("select to_regclass('layover.half')")).toBeNull();
      expect(await ask("select max(number) from layover.migration")).toBe(2);
      expect(await ask("select layover.greet()")).toBe("hello");
      expect(await migrate(database.pool, aSchema(second))).toEqual({ applied: [], functions: 2 });
    });

    test("keeps nothing of a file in which it is killed, and goes on from there the next time", async () => {
      await migrate(database.pool, aSchema(first));
      const slow = aSchema({
        ...second,
        migrations: { ...second.migrations, slow: "create table layover.half (id integer); select pg_sleep(30);" },
      });
      const migrating = migrate(database.pool, slow).catch((error: unknown) => error);
      const kill = `select pg_terminate_backend(pid) from pg_stat_activity
        where query like '%pg_sleep(30)%' and pid <> pg_backend_pid() and state = 'active'`;
      await expect.poll(async () => (await database.query(kill)).length).toBe(1);
      expect(await migrating).toMatchObject({ sqlState: "57P01" });
      expect(await ask("select to_regclass('layover.half')")).toBeNull();
      expect(await migrate(database.pool, aSchema(second))).toEqual({ applied: [], functions: 2 });
    });

    test("writes functions that a migration dropped, although it was killed before it came to them", async () => {
      await migrate(database.pool, aSchema(first));
      const migrations = { ...first.migrations, drop: "drop function layover.greet();" };
      const failed = failureOf(migrate(database.pool, aSchema({ ...first, migrations: { ...migrations, no: "no;" } })));
      expect((await failed).message).toContain("0003_no.sql:1 failed");
      expect(await migrate(database.pool, aSchema({ ...first, migrations }))).toEqual({ applied: [], functions: 1 });
      expect(await ask("select layover.greet()")).toBe("hello");
    });

    test("waits for a migration under way, however impatient the role's settings are, and says whose it is", async () => {
      const holder = new Client({ connectionString: database.url, application_name: "the other one" });
      await holder.connect();
      const { rows } = await holder.query("select pg_backend_pid() as pid");
      await holder.query("begin; select pg_advisory_xact_lock(7812089, 1)");
      const pool = aPool({ connectionString: database.url, options: "-c statement_timeout=100 -c lock_timeout=50" });
      const waits: Wait[] = [];
      const onWait = (wait: Wait) => {
        waits.push(wait);
        if (waits.length === 3) void holder.query("commit");
      };
      expect(await migrate(pool, { ...aSchema(first), onWait })).toMatchObject({ applied: ["0001_tables"] });
      const blocker = { pid: rows[0].pid, application: "the other one", openMs: expect.any(Number) };
      expect(waits[2]).toEqual({ reason: "migrating", file: undefined, blockers: [blocker], pauseMs: 250 });
      await holder.end();
      await pool.end();
    });

    test("does nothing where newer code migrated before, and its migrations do not break this code", async () => {
      await migrate(database.pool, aSchema({ ...second, version: "1.0.0" }));
      expect(await migrate(database.pool, aSchema(first))).toEqual({ applied: [], functions: 0 });
      expect(await ask("select layover.greet()")).toBe("good day");
    });

    test.each([
      ["1.0.9", "1.1.0"],
      ["1.9.0", "1.10.0"],
      ["1.1.0-beta.2", "1.1.0"],
      ["1.1.0-beta.2", "1.1.0-beta.10"],
    ])("does not put the functions of %s over those of %s", async (older, newer) => {
      const ours = { ...first, functions: { greet: aFunction("greet", "older") }, version: older };
      await migrate(database.pool, aSchema({ ...first, version: newer }));
      expect(await migrate(database.pool, aSchema(ours))).toEqual({ applied: [], functions: 0 });
      expect(await ask("select layover.greet()")).toBe("hello");
      await migrate(database.pool, aSchema({ ...ours, version: "2.0.0" }));
      expect(await ask("select layover.greet()")).toBe("older");
      expect(await migrate(database.pool, aSchema({ ...first, version: newer }))).toEqual({
        applied: [],
        functions: 0,
      });
    });

    test("leaves everything else in the database alone, whatever it is called", async () => {
      await database.pool.query(`
        create table public.run (mine integer); create table public.migration (mine integer);
        create schema app; create table app.run (mine integer);
        create function public.greet() returns text language sql as 'select ''mine''';
        insert into public.run values (1)`);
      const mine =
        "select json_agg(c.oid::regclass::text || c.relfilenode order by 1) from pg_class c where relnamespace::regnamespace::text in ('public', 'app')";
      const before = await ask(mine);
      await migrate(database.pool, aSchema(second));
      expect(await ask(mine)).toEqual(before);
      expect(await ask("select public.greet()")).toBe("mine");
    });

    test("does not look into the user's search_path for what the SQL forgot to qualify", async () => {
      await database.pool.query("create table public.forgotten (id integer)");
      const migrations = { tables: "alter table forgotten add column name text;" };
      const failed = await failureOf(migrate(database.pool, aSchema({ migrations })));
      expect(failed.message).toContain('relation "forgotten" does not exist');
    });

    test("works through a client as well as through a pool", async () => {
      const client = new Client(database.url);
      await client.connect();
      expect((await migrate(client, aSchema(first))).applied).toEqual(["0001_tables"]);
      expect((await client.query("select layover.greet()")).rows).toEqual([{ greet: "hello" }]);
      await client.end();
    });
  },
  { perTest: true, isEmpty: true },
);

describe("migrate on PGlite", async () => {
  const database = await PGlite.create();
  afterAll(async () => await database.close());

  test("does the same: once, all or nothing", async () => {
    const source = aSchema(first);
    const answers = await Promise.all([migrate(database, source), migrate(database, source)]);
    expect(answers.flatMap(({ applied }) => applied)).toEqual(["0001_tables"]);
    expect(answers.map(({ functions }) => functions).filter((count) => count > 0)).toEqual([1]);
    const broken = { ...first.migrations, broken: "create table layover.half (id integer); selekt 1;" };
    const failed = await failureOf(migrate(database, aSchema({ ...first, migrations: broken })));
    expect(failed.message).toContain("migrations/0002_broken.sql:1 failed");
    expect(await pglite(database)("select to_regclass('layover.half') as half, layover.greet()")).toEqual([
      { half: null, greet: "hello" },
    ]);
  });
});
