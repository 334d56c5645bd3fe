/** What a tick costs where most runs are over, and how a deployment is found to be new. */
import { v7 } from "uuid";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Query } from "../../src/core/ports.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { NoteCall } from "../../src/postgres/wire-scheduler.ts";
import { describeEachPostgres, testDatabase } from "./database.ts";

const versions = { order: [1] };
const terms = { namespace: "default", environment: "default", endpoint: "here", versions };

/** How many pages of 8 KiB a statement has touched, those of the functions that it calls included. */
const Plan = z.tuple([
  z.object({ Plan: z.object({ "Shared Hit Blocks": z.number(), "Shared Read Blocks": z.number() }) }),
]);

const Answer = z.object({ answer: z.object({ isNew: z.boolean() }) });

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
        expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(320);
      }
    } finally {
      client.release();
    }
  });

  test("a page of runs that are due at one instant touches its own", async () => {
    const due = "timestamptz '2026-01-01'";
    await database.query(`with made as (
      insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
        select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'crowd', 'order', 1, '0null', true, ${due}
          from generate_series(1, 20000) as n returning id)
      insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at, due_at)
        select id, 'crowd', 'parked', ${due}, ${due}, ${due} from made`);
    const after = { dueAt: Date.parse("2026-01-01Z"), runId: "00000000-0000-7000-8000-000000010000" };
    for (const isNew of [false, true]) {
      const call = JSON.stringify({ ...terms, namespace: "crowd", environment: "crowd", isNew, limit: 10, after });
      const { rows } = await database.pool.query(
        `explain (analyze, buffers, format json) select layover.list_due('${call}')`,
      );
      const [{ Plan: plan }] = Plan.parse(rows[0]["QUERY PLAN"]);
      expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(2_000);
      const [row] = await database.query("select layover.list_due($1) as answer", [call]);
      expect(row).toMatchObject({
        answer: { runs: { length: 10, 0: { runId: "00000000-0000-7000-8000-000000010001" } } },
      });
    }
  });

  test("pages follow each other, blocked runs last", async () => {
    const calls = makeCalls({ query: database.query, namespace: "default", alarm: async () => {} });
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
  const database = testDatabase({ isOwn: true });

  async function aDatabase() {
    const calls = makeCalls({ query: database.query, namespace: "default", alarm: async () => {} });
    await calls.adoptEnvironment("production");
    const clock = await database.turnClock();
    await clock.set(Date.now());
    const name = { environment: "production", deploymentName: "worker" };
    const note = (deployment: string, note: NoteCall["note"], more: Partial<NoteCall> = {}) =>
      calls.noteDeployment({ ...name, deployment, note, ...(note === "deployed" && { versions }), ...more });
    /** As a deployment's first tick does. */
    const deploy = async (deployment: string, more: Partial<NoteCall> = {}) => {
      await clock.advance(1_000);
      await note(deployment, "deployed", more);
      await note(deployment, "looked", more);
    };
    const look = (deployment: string, deploymentName = "worker") =>
      calls.listDue({ versions, limit: 9, deployment, deploymentName });
    const isNew = async (deployment: string) => (await look(deployment)).isNew;
    return { calls, clock, note, deploy, look, isNew };
  }

  test("is new until it has looked at everything, and does not become so by another one beside it", async () => {
    const { note, look, deploy, isNew } = await aDatabase();
    expect(await look("one")).toMatchObject({ isNew: true, isUnnoted: true });
    await note("one", "deployed");
    expect(await look("one")).toMatchObject({ isNew: true, isUnnoted: false });
    await note("one", "looked");
    expect(await look("one")).toMatchObject({ isNew: false, isUnnoted: false });
    expect(await isNew("two")).toBe(true);
    await deploy("two");
    expect([await isNew("one"), await isNew("two")]).toEqual([false, false]);
  });

  test("is new again when it is deployed again, as by a rollback", async () => {
    const { note, deploy, isNew } = await aDatabase();
    await deploy("one");
    await deploy("two");
    await note("one", "deployed");
    expect([await isNew("one"), await isNew("two")]).toEqual([true, false]);
  });

  test("is new again when two others have replaced it and it comes back after hours", async () => {
    const { clock, note, deploy, look } = await aDatabase();
    for (const id of ["one", "two", "three"]) await deploy(id);
    expect(await look("one")).toMatchObject({ isNew: false });
    await clock.advance(2 * 3_600_000);
    expect(await look("one")).toMatchObject({ isNew: true, isUnnoted: true });
    expect(await look("two")).toMatchObject({ isNew: false }); // nobody of its name was seen since
    await note("three", "seen");
    expect(await look("two")).toMatchObject({ isNew: true });
    expect(await look("three")).toMatchObject({ isNew: false });
  });

  test("is asked to say that it is still there once an hour at most", async () => {
    const { clock, note, deploy, look } = await aDatabase();
    await deploy("one");
    await clock.advance(3_600_000);
    expect(await look("one")).toMatchObject({ isStale: false });
    await clock.advance(1);
    expect(await look("one")).toMatchObject({ isStale: true });
    await note("one", "seen");
    expect(await look("one")).toMatchObject({ isStale: false, isNew: false });
  });

  test("of another name is another one, whatever its id", async () => {
    const { deploy, look } = await aDatabase();
    await deploy("one");
    expect(await look("one", "server")).toMatchObject({ isNew: true, isUnnoted: true });
  });

  test("is kept among the last ten of its name", async () => {
    const { deploy, look } = await aDatabase();
    for (let number = 1; number <= 11; number += 1) await deploy(`build ${number}`);
    expect([(await look("build 1")).isUnnoted, (await look("build 2")).isUnnoted]).toEqual([true, false]);
  });

  test("is new in a database that was adopted since", async () => {
    const { calls, deploy, isNew } = await aDatabase();
    await deploy("one");
    await calls.adoptEnvironment("staging");
    expect(await isNew("one")).toBe(true);
  });

  describe("of the release before, which gives no name,", () => {
    const anOldOne = async () => {
      const database_ = await aDatabase();
      const old = (name: string, call: object) =>
        database.query(`select layover.${name}($1) as answer`, [
          JSON.stringify({
            ...terms,
            environment: "production",
            endpoint: database_.calls.endpoint,
            limit: 9,
            ...call,
          }),
        ]);
      const note = async (deployment: string) => void (await old("note_deployment", { deployment }));
      const isNew = async (deployment: string) => {
        const [row] = await old("list_due", { deployment });
        return Answer.parse(row).answer.isNew;
      };
      return { ...database_, note, isNew };
    };

    test("is new until it is noted, and again after another one was", async () => {
      const { note, isNew } = await anOldOne();
      expect(await isNew("one")).toBe(true);
      await note("one");
      expect([await isNew("one"), await isNew("two")]).toEqual([false, true]);
      await note("two");
      expect([await isNew("one"), await isNew("two")]).toEqual([true, false]);
    });

    test("is new again when it comes back after one of this release", async () => {
      const { note, isNew, deploy } = await anOldOne();
      await note("one");
      await deploy("two");
      expect(await isNew("one")).toBe(true);
    });
  });

  test("that could not try all blocked runs goes on behind the last one", async () => {
    const { calls, note, deploy, look } = await aDatabase();
    const runIds = Array.from({ length: 3 }, () => v7());
    for (const runId of runIds) await calls.startRun({ runId, workflow: "order", version: 1, encodedInput: "0null" });
    await database.query("update layover.run_state set blocked = 'by older code', due_at = null");
    const blocked = async (deployment: string) => (await look(deployment)).runs.map(({ runId }) => runId);
    const [first = "", ...others] = runIds;
    await deploy("one", { triedThrough: first });
    expect(await blocked("one")).toEqual(others);
    expect(await blocked("two")).toEqual(runIds);
    await note("one", "looked");
    expect(await blocked("one")).toEqual([]);
  });

  test("of another environment sees nothing, and is not noted", async () => {
    const { calls, note, isNew } = await aDatabase();
    await calls.startRun({ runId: v7(), workflow: "order", version: 1, encodedInput: "0null" });
    const look = (environment: string) => calls.listDue({ environment, versions, limit: 9, isNew: true });
    expect(await look("production")).toMatchObject({ isOurs: true, isNew: true, runs: [{ isReady: true }] });
    expect(await look("staging")).toMatchObject({ isOurs: false, isNew: false, runs: [], nextDueAt: null });
    const elsewhere = Object.assign(async (...call: Parameters<Query>) => await database.query(...call), {
      endpoint: "elsewhere",
    });
    const copy = makeCalls({ query: elsewhere, namespace: "default", alarm: async () => {} });
    expect(await copy.listDue({ environment: "production", versions, limit: 9 })).toMatchObject({ isOurs: false });
    for (const what of ["deployed", "looked"] as const) await note("one", what, { environment: "staging" });
    expect(await isNew("one")).toBe(true);
  });

  test("that names no environment is shown what is due, also in a database that was copied from another one", async () => {
    const { calls } = await aDatabase();
    await calls.startRun({ runId: v7(), workflow: "order", version: 1, encodedInput: "0null" });
    await database.query("update layover.environment set identity = 'another'");
    const looks = { versions, limit: 9, isNew: true };
    expect(await calls.listDue(looks)).toMatchObject({ isOurs: true, runs: { length: 1 } });
    expect(await calls.listDue({ ...looks, environment: "production" })).toMatchObject({ isOurs: false, runs: [] });
  });

  test("that gives no name is what it says itself to be", async () => {
    const { calls } = await aDatabase();
    const ask = async (isNew?: boolean) =>
      (await calls.listDue({ versions, limit: 1, ...(isNew !== undefined && { isNew }) })).isNew;
    expect([await ask(), await ask(false), await ask(true)]).toEqual([false, false, true]);
  });
});
