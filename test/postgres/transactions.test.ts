/** Transactions of steps, by each driver that has them. */
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { QueryError, type Transact, UnknownCommit } from "../../src/core/ports.ts";
import { pglite } from "../../src/postgres/pglite.ts";
import { testDatabase } from "./database.ts";

const database = testDatabase({ isEmpty: true });
const tables = "create table public.ledger (place text not null unique deferrable initially deferred)";
const insert = "insert into public.ledger (place) values ($1)";
const rows = "select place from public.ledger order by place";
let embedded: PGlite;

beforeAll(async () => {
  embedded = await PGlite.create();
  for (const query of [database.query, pglite(embedded)]) await query(tables);
}, 60_000);
afterAll(async () => await embedded.close());

function transactOf({ transact }: { readonly transact?: Transact | undefined }): Transact {
  if (transact === undefined) throw new Error("it has no transactions");
  return transact;
}

describe.each([
  ["node-postgres", () => database.query],
  ["PGlite", () => pglite(embedded)],
])("a transaction by %s", (_, open) => {
  test("is committed with what its body and layover's own statements wrote", async () => {
    const query = open();
    const result = await transactOf(query)(10_000, async (client, send) => {
      await client.query(insert, ["a"]);
      await send(insert, ["b"]);
      return (await client.query(rows)).rows.length;
    });
    expect([result, await query(rows)]).toEqual([2, [{ place: "a" }, { place: "b" }]]);
  });

  test("is rolled back when its work rejects, and rejects with that very error", async () => {
    const query = open();
    const error = new Error("no");
    const outcome = transactOf(query)(10_000, async (client) => {
      await client.query(insert, ["c"]);
      throw error;
    });
    await expect(outcome).rejects.toBe(error);
    expect(await query(rows)).toHaveLength(2);
  });

  test("that Postgres refuses to commit is rolled back, for certain", async () => {
    const query = open();
    const outcome = transactOf(query)(10_000, async (client) => void (await client.query(insert, ["a"])));
    await expect(outcome).rejects.toMatchObject({ isRolledBack: true, sqlState: "23505" });
    await expect(outcome).rejects.toBeInstanceOf(QueryError);
    expect(await query(rows)).toHaveLength(2);
  });

  test("sends nothing more for its body once that has ended", async () => {
    let late: (() => Promise<unknown>) | undefined;
    await transactOf(open())(10_000, async (client) => {
      late = () => client.query(insert, ["late"]);
    });
    await expect(late?.()).rejects.toThrow("the transaction is over");
    expect(await open()(rows)).toHaveLength(2);
  });
});

test("a transaction whose session ended before its COMMIT was answered may have been committed", async () => {
  const outcome = transactOf(database.query)(10_000, async (client) => {
    const [session] = (await client.query("select pg_backend_pid() as pid")).rows;
    await database.pool.query("select pg_terminate_backend($1, 10000)", [session?.["pid"]]);
  });
  await expect(outcome).rejects.toBeInstanceOf(UnknownCommit);
});
