/** A database with a million runs of which Postgres knows no statistics, as after a restore. */
import type { Pool } from "pg";
import { migrate } from "../../src/postgres/migrate.ts";

export const runs = 1_000_000;

/**
 * Two seconds apart. Of each thousand 960 are completed, 9 failed, 1 blocked, 20 asleep for 30 days and 10 waiting for a signal.
 * Each has one record, and one of a hundred tags.
 */
const made = `
  create temporary table made as
    select n, (lpad(to_hex(1764590400000 + n * 2000), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid as id,
        to_timestamp(1764590400 + n * 2) as at, case when n % 1000 < 10 then 'waiting' when n % 1000 < 30 then 'asleep'
          when n % 1000 = 30 then 'blocked' when n % 1000 < 40 then 'failed' else 'completed' end as kind
      from generate_series(1, ${runs}::bigint) as n`;
const fill = [
  `insert into layover.run (id, namespace, workflow, version, user_id, input, is_input_parsed, created_at)
     select id, 'default', 'flow', 1, 'user-' || n, '0null', true, at from made`,
  `insert into layover.run_state (run_id, namespace, status, turn, last_position, handed_position, history_bytes,
       last_record_at, ready_at, due_at, blocked, ended_at, result, error, has_pending)
     select id, 'default', case when kind in ('completed', 'failed') then kind else 'parked' end, 2, 1, 1, 10, at,
         case when kind = 'asleep' then at + interval '2000 days' end,
         case when kind = 'asleep' then at + interval '2000 days' end, case when kind = 'blocked' then 'of old' end,
         case when kind in ('completed', 'failed') then at end, case when kind = 'completed' then '0null' end,
         case when kind = 'failed' then '0null' end, kind in ('asleep', 'waiting')
       from made`,
  `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
     select id, 0, 1, 'step', 'first', 1, false, at, '0null' from made`,
  `insert into layover.tag (run_id, namespace, name, value) select id, 'default', 'group', (n % 100)::text from made`,
  `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, signal, until)
     select id, 'wait', 1, case kind when 'asleep' then 'sleep' else 'signal' end, 1, 1,
         case kind when 'waiting' then 'go' end, case kind when 'asleep' then at + interval '2000 days' end
       from made where kind in ('asleep', 'waiting')`,
];

/** Migrates the database and fills it. The temporary table `made` tells of each run its id and its kind. */
export async function fillWithAMillion(pool: Pool): Promise<void> {
  await migrate(pool);
  await pool.query("alter system set autovacuum = off");
  await pool.query("select pg_reload_conf()");
  await pool.query(made);
  for (const statement of fill) await pool.query(statement);
}
