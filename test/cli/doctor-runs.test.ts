/** What `layover doctor` says of the runs, and of the deployments and the workflows that they wait for. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { doctor, report } from "./doctor-report.ts";

describe("layover doctor, of the runs", () => {
  const database = testDatabase({ isOwn: true });

  const start = async (workflow: string, version: number): Promise<string> => {
    const [row] = await database.query("select layover.start_run($1) as answer", [
      JSON.stringify({ workflow, version, input: null }),
    ]);
    return z.object({ answer: z.object({ runId: z.string() }) }).parse(row).answer.runId;
  };
  const set = async (runId: string, assignments: string): Promise<void> => {
    await database.query(`update layover.run_state set ${assignments} where run_id = $1::uuid`, [runId]);
  };

  test("names the version that nobody carries out, and the schedule that does not run", async () => {
    const clock = await database.turnClock();
    const undeployed = await start("order", 2);
    await clock.advance(38 * 60_000);
    const silent = await report({ DATABASE_URL: database.url });
    expect(silent["runs"]).toBe(
      "problem: 1 run of order@2 is overdue, since 2026-01-01 12:00:00 (38 min), and no turn has ended since: nobody looks." +
        " → Either no deployment has the code of order@2, or no schedule runs (the cron trigger, or the process itself)." +
        ` See layover show ${undeployed}`,
    );
    const other = await start("nap", 1);
    await set(
      other,
      "status = 'completed', ended_at = layover.now(), ready_at = null, due_at = null, result = '0null'",
    );
    const alone = await report({ DATABASE_URL: database.url });
    expect(alone["runs"]).toMatch(
      /^problem: 1 run of order@2 is overdue, .*, while other runs go on: nobody carries out order@2\. → Deploy the code of order@2/,
    );
    expect(alone["clock"]).toMatch(/^warning: The database's clock is .* behind this machine's\. → /);
  });

  test("warns of runs that wait for runs that they have cancelled", async () => {
    const [parent, child] = [await start("saga", 1), await start("ship", 1)];
    await set(parent, "is_closing = true, due_at = null");
    await set(child, "due_at = null");
    await database.query(
      `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, until, child_run_id, child_bond, is_released)
         values ('${parent}', 'ship', 1, 'child', 0, 1, layover.now() + interval '22 hours', '${child}', 'cancelled', true)`,
    );
    const { runs } = await report({ DATABASE_URL: database.url });
    expect(runs).toMatch(
      /warning: 1 run of saga@1 waits before the end for runs that it cancelled, since .* \(2 h.*\)\. After a day it will wait no more\. → Deploy the code/,
    );
    expect(runs).toContain(`layover terminate ${child}. See layover show ${parent}`);
    await database.query(`delete from layover.pending where run_id = '${parent}'`);
  });

  test("lists the deployments that are alive, with what they carry", async () => {
    await database.query(
      `insert into layover.deployment (namespace, name, id, versions, deployed_at, seen_at)
         values ('default', 'node', 'b1', '{"nap": [1], "order": [1, 2]}', layover.now() - interval '3 hours', layover.now() - interval '1 hour')`,
    );
    const { deployments } = await report({ DATABASE_URL: database.url });
    expect(deployments).toMatch(/^well: node, build b1, seen 1 h( \d s)? ago, carries nap@1, order@1, order@2\.$/);
  });

  test("says what waits for whom, where several hosts are alive", async () => {
    await database.query(
      `insert into layover.deployment (namespace, name, id, versions, wake_address, deployed_at, seen_at) values
         ('default', 'cloudflare', 'w1', '{"order": [1], "nap": [2]}', 'https://cloud.example', layover.now(), layover.now()),
         ('default', 'node', 'b1', '{"order": [1], "nap": [1]}', null, layover.now(), layover.now())`,
    );
    await start("order", 1);
    await start("order", 1);
    await start("order", 9);
    await start("nap", 1);
    await start("nap", 2);
    const { deployments, versions } = await report({ DATABASE_URL: database.url });
    expect(deployments).toMatch(
      /cloudflare, build w1, seen .*, carries nap@2, order@1, rung at https:\/\/cloud\.example\./,
    );
    expect(versions?.split("\n")).toEqual([
      "well: 2 runs of order@1 are not over, and cloudflare, node may carry them on.",
      "warning: 1 run of nap@1 is not over. Only node may carry it on, and the other hosts do not know where to ring there. → Give node its public URL (PUBLIC_URL). Otherwise what another host makes ready waits for the next tick there, up to six hours.",
      "well: 1 run of nap@2 is not over, and cloudflare may carry it on.",
      "warning: 1 run of order@9 is not over, and no deployment that is alive carries order@9. → They wait for it. Deploy the code of order@9: a version stays registered until its last run is over.",
    ]);
  });

  test("names the blocked, those that are never claimed and those whose invocations die, a line a reason", async () => {
    const blocked = await start("order", 1);
    await set(blocked, "blocked = 'the history has \"charge\"', due_at = null");
    await set(await start("order", 1), "blocked = 'the history has \"charge\"', due_at = null");
    await set(await start("mail", 1), "dispatches = 7, due_at = layover.now() + interval '1 hour'");
    await set(
      await start("film", 3),
      "status = 'running', lost = 4, token = layover.new_id(), leased_until = layover.now(), ready_at = null",
    );
    const slow = await start("slow", 1);
    await database.pool.query(
      `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
         values ($1, '', 1, 1, 'it took too long', 1, layover.now(), layover.now() + interval '1 minute')`,
      [slow],
    );
    const { stdout, status } = await doctor({ DATABASE_URL: database.url });
    expect(stdout).toMatch(
      /1 run of slow@1 is held up, since .*: it took too long\.\s+It\s+is\s+tried\s+again\s+a\s+minute, .* after\s+that\./,
    );
    expect(stdout).toMatch(
      /✗ runs +2 runs of order@1 are blocked: the history has "charge"\.\n +→ Deploy the code that fits/,
    );
    expect(stdout).toMatch(/One of them:\s+layover show [0-9a-f-]{36}\n/);
    expect(stdout).toMatch(/✗ +1 run of mail@1 is dispatched again and again \(7 times\), and never claimed\./);
    expect(stdout).toMatch(/! +1 run of film@3 is claimed 4 times in a row and not finished: the invocations\s+die\./);
    expect(status).toBe(1);
  });

  test("warns of workflows that are paused, since their runs do not begin", async () => {
    await database.query(
      `select layover.pause_workflow('{"workflow": "order", "by": "ada", "reason": "their API is down."}')`,
    );
    const { pauses } = await report({ DATABASE_URL: database.url });
    expect(pauses).toMatch(
      /^warning: The workflow order was paused .* by ada: their API is down\. Its runs do not begin\. → When they may: layover resume-workflow order$/,
    );
  });

  test("says which schedules do not fire", async () => {
    const define = (name: string, more: object) =>
      ({
        namespace: "default",
        name,
        definition: { workflow: "order", version: 9, everyMs: 3_600_000, ...more },
      }) as const;
    await database.pool.query("select layover.create_schedule($1)", [JSON.stringify(define("hourly", {}))]);
    const { schedules } = await report({ DATABASE_URL: database.url });
    expect(schedules).toBe(
      "problem: hourly: no live deployment carries version 9 of order. → See layover schedules show hourly",
    );
    await database.pool.query("delete from layover.schedule");
  });

  test("warns of the undos that failed for good, since what was done still stands", async () => {
    const failed =
      "status = 'failed', error = '0{}', ready_at = null, due_at = null, ended_at = layover.now(), failed_undos = ";
    await set(await start("film", 3), `${failed}0`);
    const run = await start("order", 1);
    await set(run, `${failed}1`);
    const { undos } = await report({ DATABASE_URL: database.url });
    expect(undos).toMatch(
      /^warning: 1 run of order@1 has ended since .*, and an undo of it failed for good: what was done still stands\. → Undo it by hand\. See layover show [0-9a-f-]{36}$/,
    );
    await set(await start("order", 1), `${failed}2`);
    expect((await report({ DATABASE_URL: database.url }))["undos"]).toMatch(
      /^warning: 2 runs of order@1 have ended since .*, and 3 undos of them failed for good: .* One of them: layover show/,
    );
  });

  test("warns of runs that were started with another contract than the one that is deployed", async () => {
    const run = await start("order", 1);
    await database.query("update layover.run set signature = '1111' where id = $1::uuid", [run]);
    await start("order", 1);
    await database.query(
      `insert into layover.deployment (namespace, name, id, versions, signatures, deployed_at, seen_at)
         values ('default', 'node', 'b1', '{"order": [1]}', '{"order": {"1": "2222"}}', now(), now())`,
    );
    const { contracts } = await report({ DATABASE_URL: database.url });
    expect(contracts).toBe(
      `warning: 1 run of order@1 was started with another contract than the one that is deployed as version 1. → Where a schema changes, raise the version: else what it takes may not fit the code. See layover show ${run}`,
    );
  });

  test("takes its time from the indexes, not from how many there are", async () => {
    await database.pool.query(`
      insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
        select layover.new_id(), 'default', 'order', 1, '0{}', true, now() from generate_series(1, 30000);
      insert into layover.run_state (run_id, namespace, status, last_record_at, due_at)
        select r.id, 'default', 'parked', now(), now() + interval '1 hour' from layover.run r;
      analyze layover.run, layover.run_state`);
    const seen = async () => {
      await database.pool.query("select pg_stat_force_next_flush()");
      const { rows } = await database.pool.query(
        "select sum(seq_tup_read)::int as rows from pg_stat_user_tables where schemaname = 'layover' and relname like 'run%'",
      );
      return Number(rows[0].rows);
    };
    const before = await seen();
    expect((await report({ DATABASE_URL: database.url }))["runs"]).toMatch(/^well: /);
    expect((await seen()) - before).toBeLessThan(30_000);
  });
});
