import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { pglite } from "../../src/postgres/pglite.ts";
import { describeQuery, failureOf } from "./query-conformance.ts";

describeQuery({
  name: "PGlite",
  endpoint: /^embedded$/,
  secrets: () => [],
  async open() {
    const database = await PGlite.create();
    return { query: pglite(database), close: async () => await database.close() };
  },
});

test("a PGlite that is closed did nothing, for certain", async () => {
  const database = await PGlite.create();
  const query = pglite(database);
  await database.close();
  expect(await failureOf(query("select 1"))).toMatchObject({ isRolledBack: true, sqlState: undefined });
});
