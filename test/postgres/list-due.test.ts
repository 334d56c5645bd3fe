/** What a tick costs where most runs are over, and how a deployment is found to be new. */
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Query } from "../../src/core/ports.ts";
import { Calls } from "../../src/postgres/calls.ts";
import { describeEachPostgres, testDatabase } from "./database.ts";

const versions = { order: [1] };
const terms = { namespace: "default", environment: "default", endpoint: "here", versions };

/** How many pages of 8 KiB a statement has touched, those of the functions that it calls included. */
const Plan = z.tuple([
  z.object({ Plan: z.object({ "Shared Hit Blocks": z.number(), "Shared Read Blocks": z.number() }) }),
]);

describeEachPostgres("among many runs that are over", (database) => {
  beforeAll(async () => {
    await database.query(`insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
      select layover.new_id(), 'default', 'order', 1, '0null', true, layover.now() from generate_series(1, 20000)`);
    await database.query(`insert into layover.run_state (run_id, namespace, status, last_record_at, ended_at, blocked)
      select r.id, 'default', 'completed', layover.now(), layover.now(), null from layover.run r`);
    await database.query(`insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
      select layover.new_id(), 'default', 'order', 1, '1null', true, layover.now() from generate_series(1, 30)`);
    await database.query(`insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at, due_at, blocked)
      select r.id, 'default', 'parked', layover.now(), layover.now(),
          case when row_number() over () > 10 then layover.now() + interval '1 hour' end,
          case when row_number() over () <= 10 then 'by older code' end
        from layover.run r where r.input = '1null'`);
  });

  test.each([
    ["an ordinary tick", false, 0],
    ["a new deployment's tick", true, 30],
  ])("%s touches those that are not, whatever plan is kept", async (_, isNew, found) => {
    const call = JSON.stringify({ ...terms, isNew, limit: 500 });
    const client = await database.pool.connect();
    try {
      for (const prepare of ["select", "analyze layover.run_state, layover.run"]) {
        await client.query(prepare);
        for (let time = 0; time < 8; time += 1) {
          const { rows } = await client.query("select layover.list_due($1) as answer", [call]);
          expect(rows[0].answer.runs).toHaveLength(found);
        }
        const { rows } = await client.query(
          `explain (analyze, buffers, format json) select layover.list_due('${call}')`,
        );
        const [{ Plan: plan }] = Plan.parse(rows[0]["QUERY PLAN"]);
        expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(300);
      }
    } finally {
      client.release();
    }
  });

  test("pages follow each other, blocked runs last", async () => {
    const calls = new Calls({ query: database.query, namespace: "default", alarm: async () => {} });
    const seen: string[] = [];
    let after: { readonly dueAt: number | null; readonly runId: string } | undefined;
    for (let page = 0; page < 5; page += 1) {
      const { runs } = await calls.listDue({ versions, isNew: true, limit: 7, ...(after && { after }) });
      seen.push(...runs.map(({ runId }) => runId));
      after = runs.at(-1);
      expect(runs.map(({ dueAt }) => dueAt === null)).toEqual(runs.map((_, index) => page * 7 + index >= 20));
    }
    expect(seen).toHaveLength(30);
    expect(new Set(seen).size).toBe(30);
  });
});

describe("a deployment", () => {
  const database = testDatabase({ perTest: true });

  async function aDatabase() {
    const calls = new Calls({ query: database.query, namespace: "default", alarm: async () => {} });
    await calls.adoptEnvironment("production");
    const note = (deployment: string) => calls.noteDeployment({ environment: "production", deployment });
    const isNew = async (deployment: string) => (await calls.listDue({ versions, limit: 1, deployment })).isNew;
    return { calls, note, isNew };
  }

  test("is new until it is noted, and again after another one was", async () => {
    const { note, isNew } = await aDatabase();
    expect(await isNew("one")).toBe(true);
    expect(await isNew("one")).toBe(true);
    await note("one");
    expect([await isNew("one"), await isNew("two")]).toEqual([false, true]);
    await note("two");
    expect([await isNew("one"), await isNew("two")]).toEqual([true, false]);
  });

  test("is new in a database that was adopted since", async () => {
    const { calls, note, isNew } = await aDatabase();
    await note("one");
    await calls.adoptEnvironment("staging");
    expect(await isNew("one")).toBe(true);
  });

  test("that could not try all blocked runs goes on behind the last one", async () => {
    const { calls, note } = await aDatabase();
    const runIds = Array.from({ length: 3 }, () => v7());
    for (const runId of runIds) await calls.startRun({ runId, workflow: "order", version: 1, encodedInput: "0null" });
    await database.query("update layover.run_state set blocked = 'by older code', due_at = null");
    const blocked = async (deployment: string) =>
      (await calls.listDue({ versions, limit: 9, deployment })).runs.map(({ runId }) => runId);
    const [first = "", ...others] = runIds;
    await calls.noteDeployment({ environment: "production", deployment: "one", triedThrough: first });
    expect(await blocked("one")).toEqual(others);
    expect(await blocked("two")).toEqual(runIds);
    await note("one");
    expect(await blocked("one")).toEqual([]);
  });

  test("of another environment sees nothing, and is not noted", async () => {
    const { calls, isNew } = await aDatabase();
    await calls.startRun({ runId: v7(), workflow: "order", version: 1, encodedInput: "0null" });
    const look = (environment: string) => calls.listDue({ environment, versions, limit: 9, isNew: true });
    expect(await look("production")).toMatchObject({ isOurs: true, isNew: true, runs: [{ isReady: true }] });
    expect(await look("staging")).toMatchObject({ isOurs: false, isNew: false, runs: [], nextDueAt: null });
    const elsewhere = Object.assign(async (...call: Parameters<Query>) => await database.query(...call), {
      endpoint: "elsewhere",
    });
    const copy = new Calls({ query: elsewhere, namespace: "default", alarm: async () => {} });
    expect(await copy.listDue({ environment: "production", versions, limit: 9 })).toMatchObject({ isOurs: false });
    await calls.noteDeployment({ environment: "staging", deployment: "one" });
    expect(await isNew("one")).toBe(true);
  });

  test("that gives no name is what it says itself to be", async () => {
    const { calls } = await aDatabase();
    const ask = async (isNew?: boolean) =>
      (await calls.listDue({ versions, limit: 1, ...(isNew !== undefined && { isNew }) })).isNew;
    expect([await ask(), await ask(false), await ask(true)]).toEqual([false, false, true]);
  });
});
