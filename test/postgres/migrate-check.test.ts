/** checkSchema says whether a database has what the code needs, and what it lacks. */
import { describe, expect, test } from "vitest";
import { checkSchema, migrate } from "../../src/postgres/migrate.ts";
import { aFunction, aSchema, type SchemaParts } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";
import { first, second } from "./migrating.ts";

describeEachPostgres(
  "migrate",
  (database) => {
    describe("checkSchema", () => {
      const problems = async (parts: SchemaParts) => (await checkSchema(database.query, aSchema(parts))).problems;

      test("names what an empty database lacks", async () => {
        expect(await checkSchema(database.query, aSchema(second))).toEqual({
          isUsable: false,
          missing: ["0001_tables", "0002_more"],
          problems: ["The database lacks 0001_tables, 0002_more: run migrate."],
        });
      });

      test("finds nothing wrong after migrate, nor with a database that is ahead without breaking", async () => {
        await migrate(database.pool, aSchema(second));
        expect(await checkSchema(database.query, aSchema(second))).toEqual({
          isUsable: true,
          missing: [],
          problems: [],
        });
        expect(await problems(first)).toEqual([]);
      });

      test("finds other functions, an edited migration and a breaking one", async () => {
        const migrations = { ...second.migrations, narrow: "--! breaking\nselect 1;" };
        await migrate(database.pool, aSchema({ ...second, migrations }));
        const functions = { greet: aFunction("greet", "hi") };
        expect(await problems({ ...second, migrations, functions })).toEqual([
          "The database has other functions than this code: run migrate.",
        ]);
        expect(await problems({ ...second, migrations: { tables: "select 1;", more: "", narrow: "" } })).toHaveLength(
          3,
        );
        expect(await problems(second)).toEqual([expect.stringContaining("after which layover 1.1.0 does not work")]);
      });
    });
  },
  { perTest: true, isEmpty: true },
);
