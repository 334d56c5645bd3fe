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
    await expect(database.pool.query(aRun)).rejects.toThrow("a run is running while it is leased");
  });

  test("is the same one for all tests of a file (first)", async () => {
    await database.pool.query("create table shared as select 1 as one");
  });

  test("is the same one for all tests of a file (second)", async () => {
    expect(await tablesOf(database.url)).toContain("public.shared");
  });
});

describe("a session outside the pool", () => {
  const database = testDatabase();
  const pids: number[] = [];
  const borrow = async () => {
    const session = await database.session();
    const { rows } = await session.query("select pg_backend_pid() as pid, current_setting('work_mem') as memory");
    pids.push(rows[0]?.pid);
    expect(rows[0]?.memory).toBe("4MB");
    return session;
  };

  test("is lent to a test (first)", async () => {
    await (await borrow()).query("set work_mem = '1MB'; begin; lock table layover.run");
  });

  test("is lent to the next one, like a new one (second)", async () => {
    const session = await borrow();
    expect(pids[1]).toBe(pids[0]);
    await database.pool.query("begin; lock table layover.run nowait; rollback");
    await session.end();
  });

  test("is another one once a test has ended it", async () => {
    await borrow();
    expect(pids[2]).not.toBe(pids[0]);
  });
});

describe("a database for each test", () => {
  const database = testDatabase({ perTest: true });

  test.each(["first", "second"])("knows nothing of the others (%s)", async () => {
    expect(await tablesOf(database.url)).not.toContain("public.own");
    await database.pool.query("create table own as select 1 as one");
  });
});

describe("a database whose tests change rows alone", () => {
  const database = testDatabase({ perTest: true });
  const stateOf = async (session: Client) => {
    const { rows } = await session.query(`
      select current_database() as name, pg_backend_pid() as pid, current_setting('work_mem') as memory,
             (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
             (select last_value from pg_sequences where sequencename = 'signal_number_seq') as number,
             (select count(*)::int from layover.workflow_pause) as pauses`);
    return rows[0];
  };
  let first: { readonly name: string; readonly pid: number } | undefined;

  test("is shared by them (first)", async () => {
    const clock = await database.turnClock();
    await clock.advance(1_000);
    const session = await database.session();
    await session.query("set work_mem = '1MB'");
    first = await stateOf(session);
    await session.query(`select pg_advisory_lock(7), nextval('layover.signal_number_seq'),
      layover.pause_workflow('{"namespace": "default", "workflow": "order"}')`);
    first = await stateOf(session);
    expect(first).toMatchObject({ memory: "1MB", locks: 1, number: "1", pauses: 1 });
    const another = new Client(database.url);
    another.on("error", () => {});
    await another.connect();
    await another.query("begin; lock table layover.run");
  });

  test("is emptied in between, its clock is set back, and its sessions are like new ones (second)", async () => {
    const clock = await database.turnClock();
    expect(await clock.now()).toBe(Date.UTC(2026, 0, 1, 12));
    const session = await database.session();
    const { name, pid } = first ?? {};
    expect(await stateOf(session)).toEqual({ name, pid, memory: "4MB", locks: 0, number: null, pauses: 0 });
    await session.query("begin; lock table layover.run nowait; rollback");
  });

  test("refuses a test in real time after one that has turned the clock", () => {
    expect(messageOf(() => database.url)).toContain("use `isOwn: true`");
  });

  test("is not shared any more by a test that has altered more than rows", async () => {
    await database.turnClock();
    await database.pool.query("alter table layover.tag add column more text");
  });

  test("is another one after such a test", async () => {
    const { rows } = await database.pool.query("select current_database() as name");
    expect(rows[0]?.name).not.toBe(first?.name);
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
