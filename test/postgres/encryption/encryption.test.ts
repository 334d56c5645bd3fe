/** Encryption at rest: no value stands readable in any table, and everything goes on as without it. */
import { encrypted } from "layover/encryption";
import { describe, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../database.ts";
import { testKeys } from "./keys.ts";
import { tellStory, word } from "./story.ts";

/** Adds the columns of all tables in which a text stands. */
async function noteColumns({ pool }: TestDatabase, found: Set<string>): Promise<void> {
  const { rows: columns } = await pool.query<{ readonly table: string; readonly column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
       join pg_tables t on t.schemaname = c.table_schema and t.tablename = c.table_name
      where c.table_schema = 'layover'`,
  );
  for (const { table, column } of columns) {
    const { rows } = await pool.query(`select from layover.${table} where ${column}::text ~* $1 limit 1`, [word]);
    if (rows.length > 0) found.add(`${table}.${column}`);
  }
}

const stories = "a story with a value at every place where one crosses to the database";

describe(stories, () => {
  const database = testDatabase();

  test("leaves them in these columns without encryption: those that README.md lists", async () => {
    const found = new Set<string>();
    await tellStory(database, database.query, {}, () => noteColumns(database, found));
    expect([...found].toSorted()).toEqual([
      "attempt.error",
      "callback.value",
      "deletion.reason",
      "delivery.event",
      "delivery.reason",
      "epoch.before",
      "epoch.input",
      "kept_signal.payload",
      "operation.reason",
      "record.value",
      "run.input",
      "run_state.blocked",
      "run_state.custom_status",
      "run_state.ends_as",
      "run_state.error",
      "run_state.refused_by",
      "run_state.result",
      "schedule.definition",
      "schedule.paused_reason",
      "signal.payload",
      "workflow_pause.reason",
    ]);
  });
});

describe(stories, () => {
  const database = testDatabase();

  test("leaves none of them readable in any column with encryption, and is the same story", async () => {
    const found = new Set<string>();
    const query = encrypted(database.query, testKeys);
    const world = await tellStory(database, query, { keys: testKeys }, () => noteColumns(database, found));
    expect([...found]).toEqual([]);
    const { runs } = await world.ask((client) => client.list({ limit: 100 }));
    const shown = await Promise.all(runs.map(async ({ runId }) => await world.get(runId)));
    expect(JSON.stringify(shown)).not.toMatch(/sealed|nreadable/);
    expect(shown.map(({ workflow, status }) => `${workflow} ${status}`)).toEqual([
      "nap failed",
      ...Array.from({ length: 4 }, () => "report completed"),
      "gift completed",
      "gift completed",
      "order blocked",
      "order cancelled",
      "nap failed",
      "sale failed",
      "trip failed",
      "lap completed",
      "order completed",
    ]);
  });
});
