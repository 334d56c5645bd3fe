import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { describeEachPostgres, postgresUrl, testDatabase } from "./database.ts";
import { emptyDatabase, freshDatabase } from "./fresh-database.ts";

async function tablesOf(url: string): Promise<string[]> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(
      "select schemaname || '.' || tablename as name from pg_tables where schemaname !~ '^(pg_|information_)' order by 1",
    );
    return rows.map(({ name }) => String(name));
  } finally {
    await client.end();
  }
}

describeEachPostgres("a test database", (database) => {
  test("has layover in it", async () => {
    expect(await tablesOf(database.url)).toContain("layover.run");
    expect(await database.query("select layover.now() is not null as is_known")).toEqual([{ is_known: true }]);
  });

  test("refuses a state that breaks a rule", async () => {
    const aRun = `insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at)
      values (gen_random_uuid(), 'default', 'running', now(), now())`;
    await expect(database.pool.query(aRun)).rejects.toThrow("a_running_run_is_leased");
  });

  test("is the same one for all tests of a file (first)", async () => {
    await database.pool.query("create table shared as select 1 as one");
  });

  test("is the same one for all tests of a file (second)", async () => {
    expect(await tablesOf(database.url)).toContain("public.shared");
  });
});

describe("a database for each test", () => {
  const database = testDatabase({ perTest: true });

  test.each(["first", "second"])("knows nothing of the others (%s)", async () => {
    expect(await tablesOf(database.url)).not.toContain("public.own");
    await database.pool.query("create table own as select 1 as one");
  });
});

describe("an empty database", () => {
  const database = testDatabase({ isEmpty: true });

  test("has nothing in it", async () => {
    expect(await tablesOf(database.url)).toEqual([]);
  });
});

test("twenty databases made at once differ, and are gone when dropped", async () => {
  const server = await postgresUrl("18");
  const databases = await Promise.all(Array.from({ length: 20 }, async () => await freshDatabase(server)));
  expect(new Set(databases.map(({ url }) => url)).size).toBe(20);
  await Promise.all(databases.map(async ({ drop }) => await drop()));
  await expect(tablesOf(databases[0]?.url ?? "")).rejects.toThrow("does not exist");
});

test("a database is dropped under an open connection", async () => {
  const { url, drop } = await emptyDatabase(await postgresUrl("15"));
  const client = new Client(url);
  client.on("error", () => {});
  await client.connect();
  await drop();
  await expect(tablesOf(url)).rejects.toThrow("does not exist");
});

describe("outside of tests", () => {
  const database = testDatabase();
  const early = messageOf(() => database.url);

  test("a test database is not open, and says so", () => {
    expect(early).toBe("testDatabase() is open within tests and hooks only.");
    expect(messageOf(() => database.url)).toBeUndefined();
  });
});

function messageOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
