/**
 * What migrate refuses: a database of newer code, an edited migration, a schema of others, a role that may not,
 * folders that cannot be.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { Pool } from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { migrate, migrationSql } from "../../src/postgres/migrate.ts";
import { aSchema } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";
import { aPool, failureOf, first, second } from "./migrating.ts";

describeEachPostgres(
  "migrate",
  (database) => {
    test("refuses a database that newer code migrated in a breaking way", async () => {
      const migrations = { ...first.migrations, narrow: "--! breaking\nalter table layover.run rename id to key;" };
      await migrate(database.pool, aSchema({ ...second, migrations }));
      const failed = await failureOf(migrate(database.pool, aSchema(first)));
      expect(failed).toMatchObject({
        code: "newer_database",
        message:
          "This database has the migration 0002_narrow, after which layover 1.0.0 does not work. " +
          "Deploy the newer code that brought it; a database never goes back.",
      });
    });

    test("refuses a migration that was edited after it was applied, but not one with other line ends", async () => {
      await migrate(database.pool, aSchema(first));
      const sql = first.migrations?.["tables"] ?? "";
      const windows = { tables: sql.replaceAll("\n", "\r\n") };
      expect(await migrate(database.pool, aSchema({ ...first, migrations: windows }))).toMatchObject({ applied: [] });
      const edited = { tables: sql.replace("integer", "bigint") };
      const failed = await failureOf(migrate(database.pool, aSchema({ ...first, migrations: edited })));
      expect(failed.code).toBe("edited_migration");
      expect(failed.message).toContain("0001_tables is not the one that this database was given");
    });

    test("refuses a schema of that name which somebody else made, unless it is empty", async () => {
      await database.pool.query("create schema layover");
      expect((await migrate(database.pool, aSchema(first))).applied).toEqual(["0001_tables"]);
      await database.pool.query("drop schema layover cascade; create schema layover create table cities (id integer)");
      const failed = await failureOf(migrate(database.pool, aSchema(first)));
      expect(failed.code).toBe("schema_taken");
      expect(failed.message).toContain('has a schema "layover" that layover did not make');
    });

    describe("by a role that may not", () => {
      const made: { readonly name: string; readonly pool: Pool }[] = [];

      async function aRole(name: string, grants: string): Promise<Pool> {
        await database.pool.query(`create role ${name} login password 'x'; ${grants}`);
        const url = new URL(database.url);
        url.username = name;
        url.password = "x";
        const pool = aPool({ connectionString: url.href, max: 1 });
        made.push({ name, pool });
        return pool;
      }

      afterEach(async () => {
        for (const { name, pool } of made.splice(0)) {
          await pool.end();
          await database.pool.query(`drop owned by ${name} cascade; drop role ${name}`);
        }
      });

      test("create a schema, says whom to ask for what", async () => {
        const failed = await failureOf(migrate(await aRole("clerk", ""), aSchema(first)));
        expect(failed).toMatchObject({ code: "permission_denied" });
        expect(failed.message).toMatch(
          /^"clerk" may not create a schema in the database "layover_test_\w+"\. Run migrate as the database's owner, or have the owner run: create schema layover authorization "clerk";$/,
        );
      });

      test("create a schema, works where the owner did as it was told", async () => {
        const pool = await aRole("clerk2", "create schema layover authorization clerk2");
        expect((await migrate(pool, aSchema(first))).applied).toEqual(["0001_tables"]);
      });

      test("create tables in it, says who may", async () => {
        const pool = await aRole("clerk3", "create schema layover");
        const failed = await failureOf(migrate(pool, aSchema(first)));
        expect(failed.code).toBe("permission_denied");
        expect(failed.message).toBe(
          `"clerk3" may not create tables in "postgres"'s schema "layover". Run migrate as "postgres".`,
        );
      });

      test("change the tables, says who made them", async () => {
        await migrate(database.pool, aSchema(first));
        const pool = await aRole(
          "clerk4",
          "grant create, usage on schema layover to clerk4; grant all on all tables in schema layover to clerk4",
        );
        const failed = await failureOf(migrate(pool, aSchema(second)));
        expect(failed).toMatchObject({
          code: "permission_denied",
          message:
            '"clerk4" may not run migrations/0002_more.sql: must be owner of table run. ' +
            'Run migrate as the role that did so first: "postgres".',
        });
      });
    });
  },
  { perTest: true, isEmpty: true },
);

describe("the folders of SQL", () => {
  const nowhere = new Pool();
  afterAll(async () => await nowhere.end());

  test("without migrations are refused before the database is asked", async () => {
    const failed = await failureOf(migrate(nowhere, { folder: new URL("file:///no/such/folder/") }));
    expect(failed.code).toBe("bad_migrations");
    expect(failed.message).toContain("layover's SQL is not at /no/such/folder/functions/");
  });

  test.each(["0002_two", "two"])("with a gap or without a number (%s) are refused", async (name) => {
    const source = aSchema({ migrations: { one: "select 1;" } });
    writeFileSync(new URL(`migrations/${name}x.sql`, source.folder), "");
    writeFileSync(new URL(`migrations/${name}.sql`, source.folder), "");
    expect((await failureOf(migrate(nowhere, source))).message).toContain("stands where number");
  });

  test("of this package are found beside the code", () => {
    const sql = migrationSql();
    for (const kind of ["migrations", "functions"]) {
      const files = readdirSync(new URL(`../../src/postgres/${kind}/`, import.meta.url));
      expect(files.length).toBeGreaterThan(0);
    }
    expect(sql).toContain("create table layover.run ");
    expect(sql).toContain("function layover.now()");
  });
});
