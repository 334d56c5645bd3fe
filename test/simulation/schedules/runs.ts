/** The runs that schedules have started, as they are at the end. */
import type { Site } from "../site.ts";
import { nameOf } from "./code.ts";

/** The run of a schedule that somebody restarts: of those that are over, the one that was started first. So a later one is over too. */
export async function firstOver({ pool }: Site, namespace: string, which: number): Promise<string | undefined> {
  const { rows } = await pool.query<{ readonly id: string }>(
    `select r.id from layover.run r join layover.run_state t on t.run_id = r.id
      where r.namespace = $1 and r.scheduled->>'schedule' = $2 and t.ended_at is not null order by r.created_at, r.id limit 1`,
    [namespace, nameOf(which)],
  );
  return rows[0]?.id;
}

/**
 * Each run of a firing is over and has written its instant, but those that the scenario has left no time, and those that
 * are paused. A run is blocked whose schedule is not declared any more, since the code is gone that makes its input.
 */
export async function wrongRuns(
  { pool }: Site,
  namespace: string,
  declared: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ readonly id: string; readonly status: string; readonly result: string | null }>(
    `select r.user_id as id, t.status, t.result::text as result from layover.run r join layover.run_state t on t.run_id = r.id
      where r.namespace = $1 and r.user_id not like 'made %' and t.paused_at is null
        and r.created_at < layover.now() - interval '70 minutes'
        and not exists (select from layover.epoch e
          where e.run_id = r.id and e.epoch = t.epoch and e.began_at > layover.now() - interval '70 minutes')
        and (t.blocked is null or r.scheduled->>'schedule' = any($2))`,
    [namespace, declared],
  );
  return rows.flatMap(({ id, status, result }) => {
    const at = id.slice(id.indexOf("@") + 1);
    if (status !== "completed") return [`the run ${id} is ${status}`];
    const hasWritten = !/^\d{4}-/.test(at) || result?.includes(at.slice(0, 19)) === true;
    return hasWritten ? [] : [`the run ${id} has written ${result}`];
  });
}
