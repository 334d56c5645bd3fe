/** Transactions of steps, by each driver that has them. */
import { PGlite } from "@electric-sql/pglite";
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { QueryError, type Transact, UnknownCommit } from "../../src/core/ports.ts";
import { neon } from "../../src/postgres/neon.ts";
import { pg } from "../../src/postgres/pg.ts";
import { pglite } from "../../src/postgres/pglite.ts";
import { testDatabase } from "./database.ts";
import {
  type Fate,
  halfAnswered,
  type NeonEndpoint,
  openNeonEndpoint,
  refused,
  unanswered,
  unread,
} from "./neon-endpoint.ts";

const database = testDatabase({ isEmpty: true });
const tables = "create table public.ledger (place text not null unique deferrable initially deferred)";
const insert = "insert into public.ledger (place) values ($1)";
const rows = "select place from public.ledger order by place";
let embedded: PGlite;
let endpoint: NeonEndpoint;

beforeAll(async () => {
  embedded = await PGlite.create();
  endpoint = await openNeonEndpoint(database.url);
  for (const query of [database.query, pglite(embedded)]) await query(tables);
});
beforeEach(async () => {
  for (const query of [database.query, pglite(embedded)]) await query("truncate public.ledger");
});
afterAll(async () => {
  await embedded.close();
  await endpoint.close();
});

function transactOf({ transact }: { readonly transact?: Transact | undefined }): Transact {
  if (transact === undefined) throw new Error("it has no transactions");
  return transact;
}

const overNeon = () => neon(endpoint.url, { fetchEndpoint: endpoint.fetchEndpoint });
const answering = [
  ["node-postgres", () => database.query],
  ["PGlite", () => pglite(embedded)],
] as const;

describe.each([...answering, ["Neon over HTTP", overNeon] as const])("a transaction by %s", (_, open) => {
  test("is committed with what its body and layover's own statements wrote", async () => {
    const query = open();
    const result = await transactOf(query)(10_000, async (client, send) => {
      client.write("insert into public.ledger (place) values ($1), ($2)", ["a", "b"]);
      client.write("update public.ledger set place = 'c' where place = $1", ["b"]);
      return await send("insert into public.ledger (place) values ('d') returning place", []);
    });
    expect([result, await query(rows)]).toEqual([[{ place: "d" }], [{ place: "a" }, { place: "c" }, { place: "d" }]]);
  });

  test("is rolled back when its work rejects, and rejects with that very error", async () => {
    const query = open();
    const error = new Error("no");
    const outcome = transactOf(query)(10_000, async (client) => {
      client.write(insert, ["c"]);
      throw error;
    });
    await expect(outcome).rejects.toBe(error);
    expect(await query(rows)).toEqual([]);
  });

  test("of which Postgres refuses a statement is rolled back, for certain", async () => {
    const query = open();
    const outcome = transactOf(query)(10_000, async (client, send) => {
      client.write(insert, ["c"]);
      client.write("select 1 / 0");
      return await send("select 1", []);
    });
    await expect(outcome).rejects.toMatchObject({ message: expect.stringContaining("division by zero") });
    await expect(outcome).rejects.not.toBeInstanceOf(UnknownCommit);
    expect(await query(rows)).toEqual([]);
  });

  test("that Postgres refuses to commit is rolled back, for certain", async () => {
    const query = open();
    await query(insert, ["a"]);
    const outcome = transactOf(query)(10_000, async (client, send) => {
      client.write(insert, ["a"]);
      return await send("select 1", []);
    });
    await expect(outcome).rejects.toMatchObject({ isRolledBack: true, sqlState: "23505" });
    await expect(outcome).rejects.toBeInstanceOf(QueryError);
    expect(await query(rows)).toEqual([{ place: "a" }]);
  });

  test("takes nothing more of its body once that has ended", async () => {
    let late: (() => void) | undefined;
    await transactOf(open())(10_000, async (client, send) => {
      late = () => client.write(insert, ["late"]);
      await send("select 1", []);
    });
    expect(late).toThrow("the transaction is over");
    expect(await open()(rows)).toEqual([]);
  });
});

describe.each(answering)("a transaction by %s", (_, open) => {
  test("answers rows, with what was written before", async () => {
    const query = open();
    const seen = await transactOf(query)(10_000, async (client) => {
      client.write(insert, ["a"]);
      return (await client.query(rows)).rows;
    });
    expect([seen, await query(rows)]).toEqual([[{ place: "a" }], [{ place: "a" }]]);
  });

  test("sends nothing more for its body once that has ended", async () => {
    let late: (() => Promise<unknown>) | undefined;
    await transactOf(open())(10_000, async (client) => {
      late = () => client.query(insert, ["late"]);
    });
    await expect(late?.()).rejects.toThrow("the transaction is over");
    expect(await open()(rows)).toEqual([]);
  });
});

test.each([
  ["node-postgres", "7s", () => database.query],
  ["PGlite", "0", () => pglite(embedded)], // it is the process itself, and knows no such limit
] as const)(
  "the statement_timeout of a transaction by %s is %s where the step may take 7 s",
  async (_, limit, open) => {
    const { rows } = await transactOf(open())(7_000, (client) => client.query("show statement_timeout"));
    expect(rows).toEqual([{ statement_timeout: limit }]);
  },
);

// PGlite is the process itself, and knows no such limit.
describe.each([
  ["node-postgres", () => database.query, { code: "57014" }],
  ["Neon over HTTP", overNeon, { isRolledBack: true, sqlState: "57014" }],
] as const)("a transaction by %s", (_, open, ended) => {
  test("is ended by Postgres where a statement takes longer than the step may, and is rolled back for certain", async () => {
    const query = open();
    const outcome = transactOf(query)(10, async (client, send) => {
      client.write(insert, ["a"]);
      client.write("select pg_sleep(60)");
      return await send("select 1", []);
    });
    await expect(outcome).rejects.toMatchObject(ended);
    await expect(outcome).rejects.not.toBeInstanceOf(UnknownCommit);
    expect(await query(rows)).toEqual([]);
  });
});

test.each([
  ["was committed", "select 1", 10_000],
  ["was ended by that limit", "select pg_sleep(60)", 10],
])("a transaction that %s leaves its limit to no later call on its connection", async (_, statement, limitMs) => {
  const pool = new Pool({ connectionString: database.url, max: 1 });
  onTestFinished(() => pool.end());
  const query = pg(pool);
  const connection = "select pg_backend_pid() as pid, current_setting('statement_timeout') as limit";
  const before = await query(connection);
  await transactOf(query)(limitMs, async (client) => void (await client.query(statement))).catch(() => {});
  expect(await query(connection)).toEqual(before);
});

test("a transaction whose session ended before its COMMIT was answered may have been committed", async () => {
  const outcome = transactOf(database.query)(10_000, async (client) => {
    const [session] = (await client.query("select pg_backend_pid() as pid")).rows;
    await database.pool.query("select pg_terminate_backend($1, 10000)", [session?.["pid"]]);
  });
  await expect(outcome).rejects.toBeInstanceOf(UnknownCommit);
});

test.each([
  ["is committed", true, [{ place: "a" }]],
  ["is rolled back", false, []],
] as const)(
  "a transaction by PGlite that %s has the database alone: another call waits for its end",
  async (_, isKept, seen) => {
    const query = pglite(embedded);
    const ended: string[] = [];
    let meanwhile: Promise<unknown> = Promise.resolve();
    const outcome = transactOf(query)(10_000, async (client) => {
      await client.query(insert, ["a"]);
      meanwhile = query(rows).finally(() => ended.push("the other call"));
      for (let number = 0; number < 5; number += 1) await client.query(rows);
      ended.push("the body");
      if (!isKept) throw new Error("no");
    });
    await outcome.catch(() => {});
    expect(await meanwhile).toEqual(seen);
    expect(ended).toEqual(["the body", "the other call"]);
  },
);

describe("a transaction by Neon over HTTP", () => {
  const book = () =>
    transactOf(overNeon())(10_000, async (client, send) => {
      client.write(insert, ["a"]);
      return await send("select 1 as one", []);
    });

  test("is one request", async () => {
    const before = endpoint.arrivals;
    expect(await book()).toEqual([{ one: 1 }]);
    expect(endpoint.arrivals - before).toBe(1);
  });

  test.each<[string, Fate, number]>([
    ["whose connection is cut before it is read", unread, 0],
    ["whose answer is dropped", unanswered, 1],
    ["whose answer breaks off in the middle", halfAnswered, 1],
    ["that gets a 502 of a proxy's", refused(502, "<html>Bad gateway</html>"), 0],
  ])("%s may have been committed, and is sent once", async (_name, fate, count) => {
    const before = endpoint.arrivals;
    endpoint.next(fate);
    await expect(book()).rejects.toBeInstanceOf(UnknownCommit);
    expect(endpoint.arrivals - before).toBe(1);
    expect(await database.query(rows)).toHaveLength(count);
  });

  test("cannot answer amid it, and says what to do instead", async () => {
    const outcome = transactOf(overNeon())(10_000, (client) => client.query(rows));
    await expect(outcome).rejects.toMatchObject({
      code: "transactions_unavailable",
      hint: expect.stringContaining("db.write"),
    });
  });
});
