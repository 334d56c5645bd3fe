/** Large values of transactions: a transaction has the only connection, so the database keeps them. */
import { workflow } from "layover";
import { withStore } from "layover/store";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { build, mebibyte, report, text } from "./storing.ts";
import { World } from "./world.ts";

const database = testDatabase();

test("a transaction has the only connection, so the database keeps its result, with the limit of the database", async () => {
  const written = workflow({ name: "written", version: 1, output: z.number() });
  const results: number[] = [];
  const store = new MemoryStore();
  const world = await World.begin(database, {
    ...build("a"),
    workflows: [
      written.handler(async ({ step }) => {
        for (const size of [mebibyte / 2, 2 * mebibyte]) {
          const made = step.transaction("write", async () => text("w", size), { retry: { maxAttempts: 1 } });
          results.push(
            await made.then(
              ({ length }) => length,
              () => -1,
            ),
          );
        }
        return results.length;
      }),
    ],
    values: { store },
  });
  const run = await world.start(written);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(results.slice(-2)).toEqual([mebibyte / 2, -1]);
  expect(store.values.size).toBe(0);
});

test("a transaction that starts a run has the only connection, so the database keeps the input, with its own limit", async () => {
  const store = new MemoryStore();
  const pool = new Pool({ ...database.pool.options, max: 1, connectionTimeoutMillis: 2_000 });
  onTestFinished(() => pool.end());
  const query = withStore(pg(pool), { store });
  const calls = makeCalls({ query, namespace: "single", alarm: async () => {} });
  const client = new Client({ calls, dispatch: async () => {}, wake: async () => {} });
  await calls.adoptEnvironment("test");
  const input = text("i", mebibyte / 2);
  const connection = await pool.connect();
  const start = async () => {
    await connection.query("begin");
    const { runId } = await client.startIn(pg(connection), report, input, { id: "one" });
    const tooLong = client.startIn(pg(connection), report, text("i"));
    await expect(tooLong).rejects.toMatchObject({ code: "value_too_large" });
    await connection.query("commit");
    return runId;
  };
  const runId = await start().finally(() => connection.release());
  expect((await client.get(runId)).input).toBe(input);
  expect(store.values.size).toBe(0);
  expect((await client.start(report, input, { id: "one" })).runId).toBe(runId);
});
