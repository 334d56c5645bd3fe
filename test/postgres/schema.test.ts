/**
 * What migrate makes of an empty database, written down in schema.txt. A change there is a change of what users have:
 * look at it, then write it down with `UPDATE_SCHEMA=1 npm test -- schema`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate, migrationSql } from "../../src/postgres/migrate.ts";
import { pglite } from "../../src/postgres/pglite.ts";
import { newestMigration, ownRelease } from "../../src/postgres/schema-fit.ts";
import { ownVersion } from "../../src/postgres/sql-files.ts";
import { describeEachPostgres, testDatabase } from "./database.ts";
import { dumpSchema } from "./schema-dump.ts";

const file = new URL("schema.txt", import.meta.url);

const fitFile = new URL("../../src/postgres/schema-fit.ts", import.meta.url);

function migrationCount(): number {
  return readdirSync(new URL("../../src/postgres/migrations/", import.meta.url)).length;
}

function writtenDown(): string {
  return readFileSync(file, "utf8").replaceAll("\r\n", "\n");
}

if (process.env["UPDATE_SCHEMA"]) {
  describe("the schema", () => {
    const database = testDatabase({ isEmpty: true });

    test("is written down anew", async () => {
      await migrate(database.pool);
      writeFileSync(file, await dumpSchema(database.query));
      const source = readFileSync(fitFile, "utf8");
      const numbered = source.replace(/(newestMigration = )\d+/, `$1${migrationCount()}`);
      writeFileSync(fitFile, numbered.replace(/(ownRelease = )"[^"]*"/, `$1"${ownVersion()}"`));
    });
  });
}

describeEachPostgres(
  "the schema",
  (database) => {
    test("is as it is written down", async () => {
      await migrate(database.pool);
      expect(await dumpSchema(database.query)).toBe(writtenDown());
    });
  },
  { isEmpty: true },
);

describe("the schema", () => {
  const database = testDatabase({ isEmpty: true });

  test("is the one whose number the code knows", () => {
    expect(newestMigration).toBe(migrationCount());
    expect(ownRelease).toBe(ownVersion());
  });

  test("is the same when its SQL is run by hand", async () => {
    await database.pool.query(migrationSql());
    expect(await dumpSchema(database.query)).toBe(writtenDown());
  });

  test("is the same on PGlite", async () => {
    const embedded = await PGlite.create();
    onTestFinished(async () => await embedded.close());
    await migrate(embedded);
    expect(await dumpSchema(pglite(embedded))).toBe(writtenDown());
  });
});

describeEachPostgres(
  "the dump of a schema",
  (database) => {
    const things: [string, string, RegExp][] = [
      [
        "a table and its storage",
        "create table layover.a (id integer) with (fillfactor = 50)",
        /^table a with \(fillfactor=50\)$/m,
      ],
      [
        "a column, its type and default",
        "create table layover.a (id numeric(5, 2) not null default 1.5)",
        /^a\.id numeric\(5,2\) not null default 1\.5$/m,
      ],
      [
        "an identity",
        "create table layover.a (id bigint generated always as identity)",
        /^a\.id bigint not null generated always as identity$/m,
      ],
      [
        "a generated column",
        "create table layover.a (id integer, b integer generated always as (id * 2) stored)",
        /^a\.b integer generated always as \(\(id \* 2\)\)$/m,
      ],
      ["a check", "create table layover.a (id integer check (id > 0))", /^a: a_id_check CHECK \(id > 0\)$/m],
      [
        "a partial index",
        "create table layover.a (id integer); create index on layover.a (id) where id > 0",
        /^CREATE INDEX a_id_idx ON layover\.a USING btree \(id\) WHERE \(id > 0\)$/m,
      ],
      [
        "a function",
        "create function layover.f(p jsonb, n integer default 1) returns json language sql stable strict security definer set search_path = pg_catalog as 'select null::json'",
        /^f\(p jsonb, n integer DEFAULT 1\) returns json language sql stable strict security definer set search_path=pg_catalog$/m,
      ],
      [
        "a trigger",
        "create table layover.a (id integer); create trigger t before update on layover.a for each row execute function suppress_redundant_updates_trigger()",
        /^CREATE TRIGGER t BEFORE UPDATE ON layover\.a FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger\(\)$/m,
      ],
      ["a sequence", "create sequence layover.s", /^s \(sequence\)$/m],
      ["a view", "create view layover.v as select 1 as one", /^v \(view\)$/m],
    ];

    test.each(things)("has %s", async (_, sql, line) => {
      await database.pool.query(`create schema layover; ${sql}`);
      expect(await dumpSchema(database.query)).toMatch(line);
    });
  },
  { perTest: true, isEmpty: true },
);
