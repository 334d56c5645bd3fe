/** Starts inside a transaction of the user's. */
import { Client as Connection } from "pg";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Query } from "../../src/core/ports.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { aClient } from "./a-client.ts";

const order = workflow({ name: "order", version: 1, input: z.object({ id: z.string() }) });

describe("startIn", () => {
  const database = testDatabase();

  it("starts the run if the caller's transaction commits, and dispatches nothing before", async () => {
    const { client, dispatches, armed } = aClient(database.query);
    const connection = new Connection(database.url);
    await connection.connect();
    try {
      await connection.query("begin");
      const committed = await client.startIn(pg(connection), order, { id: "in" }, { id: "in", commitWithin: "10s" });
      await expect(client.get(committed.runId)).rejects.toMatchObject({ code: "unknown_run" });
      await connection.query("commit");
      const { dueAt } = await client.get(committed.runId);
      expect(armed).toContain(Number(dueAt));
      expect(Number(dueAt) - Date.now()).toBeGreaterThan(35_000);

      await connection.query("begin");
      const rolledBack = await client.startIn(pg(connection), order, { id: "in" }, { id: "out" });
      await connection.query("rollback");
      await expect(client.get(rolledBack.runId)).rejects.toMatchObject({ code: "unknown_run" });
      expect(dispatches).toEqual([]);
    } finally {
      await connection.end();
    }
  });

  it("has a COMMIT refused that comes later than it promised", async () => {
    const { client } = aClient(database.query);
    const connection = new Connection(database.url);
    await connection.connect();
    try {
      await connection.query("begin");
      await client.startIn(pg(connection), order, { id: "late" }, { commitWithin: 0 });
      await expect(connection.query("commit")).rejects.toMatchObject({ code: "LO004" });
    } finally {
      await connection.end();
    }
  });

  it("has a COMMIT refused that comes later than it promised, also where the call itself took long", async () => {
    const clock = await database.turnClock();
    const { client } = aClient(database.query);
    const connection = new Connection(database.url);
    await connection.connect();
    const busy = async (...[text, values]: Parameters<Query>) => {
      await clock.advance(4_000); // another statement of the user's is ahead
      return await pg(connection)(text, values);
    };
    const startAndCommit = async (id: string, afterMs: number) => {
      await connection.query("begin");
      const transaction = Object.assign(busy, { endpoint: database.query.endpoint });
      await client.startIn(transaction, order, { id }, { id, commitWithin: "10s" });
      await clock.advance(afterMs);
      await connection.query("commit");
    };
    try {
      await startAndCommit("in time", 6_000);
      await expect(startAndCommit("late", 6_001)).rejects.toMatchObject({ code: "LO004" });
    } finally {
      await connection.end();
    }
  });
});
