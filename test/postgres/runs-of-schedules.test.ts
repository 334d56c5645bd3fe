/** The migration of a database of the release before: the last run of each schedule is known afterwards. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { aSchema } from "./a-schema.ts";
import { testDatabase } from "./database.ts";

const database = testDatabase({ isEmpty: true });

test("the last run of each schedule counts as one that may be at work", async () => {
  const folder = new URL("../../src/postgres/migrations/", import.meta.url);
  const read = (file: string) => readFileSync(new URL(file, folder), "utf8");
  const before = readdirSync(folder).filter((file) => file < "0033");
  const migrations = Object.fromEntries(before.toSorted().map((file) => [file.slice(5, -4), read(file)]));
  await migrate(database.pool, aSchema({ migrations, version: "0.0.1" }));
  const lastRun = "019b79db-b300-7d1e-a45f-db9f132ba8c0";
  await database.query(
    `insert into layover.schedule (namespace, name, definition, workflow, version, last_run_id, created_at, changed_at)
      values ('shop', 'fired', '{}', 'report', 1, $1, now(), now()), ('shop', 'new', '{}', 'report', 1, null, now(), now())`,
    [lastRun],
  );
  await migrate(database.pool);
  expect(await database.query("select namespace, schedule, run_id from layover.scheduled_run")).toEqual([
    { namespace: "shop", schedule: "fired", run_id: lastRun },
  ]);
});
