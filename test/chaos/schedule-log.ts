/**
 * Writes down whatever becomes of a schedule, in the transaction that does it: the row before and after, and the time. A
 * trigger does that, so nothing escapes, whoever makes the call and however it ends.
 */
import type { Pool } from "pg";
import { rowText } from "../simulation/schedules/court.ts";
import type { Row } from "../simulation/schedules/reference.ts";

/** A schedule that was made, changed or deleted. Times are epoch milliseconds of the database's clock. */
export interface Change {
  readonly name: string;
  /** Null: there was none. */
  readonly was: Row | null;
  /** Null: it was deleted. */
  readonly is: Row | null;
  /** When its transaction began. */
  readonly began: number;
  /** When it was written down, in that transaction. */
  readonly now: number;
  /** When a run of the schedule ended last. Null: none has within an hour. */
  readonly lastEnded: number | null;
}

/** A run that a schedule has started. */
export interface StartedRun {
  readonly schedule: string;
  /** The user's own id of the run: the schedule's name and the instant. */
  readonly id: string;
  readonly createdAt: number;
  readonly status: string;
  readonly blocked: string | null;
  readonly result: string | null;
}

/** SQL of the schedule's runs, which are an hour old at most, without one that this change has started. */
const runsOfIt = `layover.run r join layover.run_state t on t.run_id = r.id
                where r.namespace = v.namespace and r.workflow = v.workflow and r.scheduled->>'schedule' = v.name
                  and r.id >= layover.first_id(layover.to_ms(v_now) - 3600000)
                  and (r.id is distinct from new.last_run_id or r.id = old.last_run_id)`;

const row = rowText(`exists (select from ${runsOfIt} and t.ended_at is null)`);

/** The schema `chaos` must be there. */
export async function logSchedules(pool: Pool): Promise<void> {
  await pool.query(`
    create table chaos.schedule_change (
      number bigint generated always as identity primary key,
      name text not null,
      was json,
      "is" json,
      began bigint not null,
      now bigint not null,
      last_ended bigint
    );
    create function chaos.log_schedule() returns trigger language plpgsql as $$
    declare
      v_now timestamptz := layover.now();
    begin
      insert into chaos.schedule_change (name, was, "is", began, now, last_ended)
        select coalesce(new.name, old.name),
            (select ${row} from (select (old).*) as v where v.name is not null),
            (select ${row} from (select (new).*) as v where v.name is not null),
            layover.to_ms(v_now - (clock_timestamp() - transaction_timestamp())), layover.to_ms(v_now),
            (select layover.to_ms(max(t.ended_at)) from (select (old).*) as v, lateral (select t.ended_at from ${runsOfIt}) as t);
      return null;
    end $$;
    create trigger log_schedule after insert or update or delete on layover.schedule
      for each row execute function chaos.log_schedule()`);
}

/** Answers all changes, in their order. */
export async function readChanges(pool: Pool): Promise<readonly Change[]> {
  const { rows } = await pool.query<Change>(
    `select name, was, "is", began::float8 as began, now::float8 as now, last_ended::float8 as "lastEnded"
       from chaos.schedule_change order by number`,
  );
  return rows;
}

/** Answers all runs that schedules have started. */
export async function readStartedRuns(pool: Pool): Promise<readonly StartedRun[]> {
  const { rows } = await pool.query<StartedRun>(
    `select r.scheduled->>'schedule' as schedule, r.user_id as id, layover.to_ms(r.created_at)::float8 as "createdAt",
         t.status, t.blocked, t.result
       from layover.run r join layover.run_state t on t.run_id = r.id where r.scheduled is not null order by r.created_at`,
  );
  return rows;
}

/** Answers the database's time. */
export async function readNow(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ readonly now: number }>("select layover.to_ms(layover.now())::float8 as now");
  const [row] = rows;
  if (row === undefined) throw new Error("the database does not tell the time");
  return row.now;
}
