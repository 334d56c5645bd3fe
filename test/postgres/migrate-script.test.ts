/** The script that brings a database up without migrate, for people who run SQL by hand. */
import { describe, expect, test } from "vitest";
import { checkSchema, migrate, migrationSql } from "../../src/postgres/migrate.ts";
import { aSchema } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";
import { first, second } from "./migrating.ts";

describeEachPostgres(
  "migrate",
  (database) => {
    const ask = async (text: string): Promise<unknown> => Object.values((await database.query(text))[0] ?? {})[0];

    describe("as a script for people who run SQL by hand", () => {
      test("does the same, and no harm when run again", async () => {
        const source = aSchema(second);
        await database.pool.query(migrationSql(source));
        await database.pool.query(migrationSql(source));
        expect(await migrate(database.pool, source)).toEqual({ applied: [], functions: 0 });
        expect(await checkSchema(database.query, source)).toMatchObject({ isUsable: true });
        expect(await ask("select layover.greet()")).toBe("good day");
      });

      test("applies only what is new", async () => {
        await database.pool.query(migrationSql(aSchema(first)));
        await database.query("insert into layover.run values (1)");
        await database.pool.query(migrationSql(aSchema(second)));
        expect(await ask("select count(*)::int from layover.run where name is null")).toBe(1);
      });

      test("stops before it puts older functions over newer ones", async () => {
        await migrate(database.pool, aSchema(second));
        await expect(database.pool.query(migrationSql(aSchema(first)))).rejects.toThrow("migrated by newer code");
        expect(await ask("select layover.greet()")).toBe("good day");
      });
    });
  },
  { perTest: true, isEmpty: true },
);
