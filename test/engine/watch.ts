/**
 * Looks whether the wake rule holds (W): a run that may go on by itself has a due instant, and an alarm stands for that.
 * The exact text, and what the rule does not cover, is in src/core/README.md. So runs of versions that no deployment
 * carries are left out here, and so is a database that belongs to another environment.
 */

import type { Workflow } from "layover";
import type { Pool } from "pg";
import { minuteMs, ringAgainMs } from "../../src/core/waking.ts";
import type { StandingAlarm } from "./platform.ts";

export const twoMinutes = 120_000;

export interface LiveRun {
  readonly due: number | null;
  /** The first instant at which something of it may be claimed. Null: only a signal or an answer moves it. */
  readonly claimableAt: number | null;
  /** How often the scheduler dispatched what nobody claimed. */
  readonly dispatches: number;
  /** Whether a deployment has refused it. That deployment asks each minute whether another one takes it. */
  readonly isRefused?: boolean;
}

interface Seen {
  readonly state: string;
  /** The instant from which on it has been in this state, by the database's clock. */
  readonly at: number;
  /** The most dispatches that it was ever seen with: what nobody claimed may be looked at less often. */
  readonly dispatches: number;
}

export interface Outlook {
  readonly alarms: readonly StandingAlarm[];
  /** Workflows that the deployments here carry. */
  readonly workflows: readonly Workflow[];
  readonly environment: string;
  readonly endpoint: string;
  /** When these workflows were deployed, in epoch milliseconds. */
  readonly since: number;
  readonly now: number;
  /** Whether each instant has an alarm of its own. Otherwise the next tick arms what follows it. */
  readonly isExact: boolean;
  /** Whether schedules are not fired, since the host's clock and the database's are too far apart. */
  readonly firesNothing?: boolean;
  /** How much later than two minutes an alarm may ring. Default: 0. */
  readonly graceMs?: number;
  /** Ids of runs that a test has locked, so that no tick can move their due instants. Default: none. */
  readonly locked?: ReadonlySet<string>;
  /** When a ring at another deployment failed the last time. It is tried again after a pause, and runs wait so long, nothing else. Undefined: never. */
  readonly rungInVainAt?: number | undefined;
}

interface RowOfRun {
  readonly run_id: string;
  readonly turn: number;
}

interface Live {
  readonly runs: readonly (LiveRun & RowOfRun)[];
  readonly kept: readonly { readonly user_id: string; readonly due: number }[];
  readonly schedules: readonly (LiveRun & { readonly name: string })[];
}

const nothing: Live = { runs: [], kept: [], schedules: [] };

export class Watch {
  readonly #pool: Pool;
  readonly #namespace: string;
  /** Each run as it was at the last look. Its row does not tell since when it is so. */
  readonly #seen = new Map<string, Seen>();

  constructor(pool: Pool, namespace: string) {
    this.#pool = pool;
    this.#namespace = namespace;
  }

  async look({ alarms, workflows, environment, endpoint, firesNothing, ...rest }: Outlook): Promise<void> {
    const carried = workflows.map(({ contract: { name, version } }) => `${name}/${version}`);
    const values = [this.#namespace, carried, environment, endpoint];
    const { rows } = await this.#pool.query<Live>({ name: "live", text: live, values });
    const { runs, kept, schedules } = rows[0] ?? nothing;
    for (const run of runs.filter(({ run_id }) => rest.locked?.has(run_id) !== true)) {
      const { at, dispatches } = this.#note(run, rest.now);
      const since = run.claimableAt === 0 ? Math.max(rest.since, at) : rest.since;
      const wrong = objection({ ...run, dispatches }, { alarms, ...rest, since });
      if (wrong !== undefined) throw new Error(`the wake rule does not hold for run ${run.run_id}: ${wrong}`);
    }
    for (const { user_id, due } of kept) {
      const wrong = objection({ due, claimableAt: null, dispatches: 0 }, { alarms, ...rest });
      if (wrong !== undefined)
        throw new Error(`the wake rule does not hold for a signal kept for ${user_id}: ${wrong}`);
    }
    for (const schedule of firesNothing ? [] : schedules) {
      const { at } = this.#note({ ...schedule, run_id: schedule.name, turn: schedule.due ?? 0 }, rest.now);
      const wrong = objection(schedule, { alarms, ...rest, since: Math.max(rest.since, at) });
      if (wrong !== undefined) throw new Error(`the wake rule does not hold for schedule ${schedule.name}: ${wrong}`);
    }
  }

  #note({ run_id, turn, claimableAt, dispatches }: LiveRun & RowOfRun, now: number): Seen {
    const state = `${turn} ${claimableAt}`;
    const known = this.#seen.get(run_id);
    const seen = {
      state,
      at: known?.state === state ? known.at : now,
      dispatches: Math.max(known?.dispatches ?? 0, dispatches),
    };
    this.#seen.set(run_id, seen);
    return seen;
  }
}

/** Answers why the wake rule does not hold for a run; undefined where it holds. */
export function objection(
  { due, claimableAt, dispatches, isRefused = false }: LiveRun,
  outlook: Pick<Outlook, "alarms" | "isExact" | "since" | "now" | "graceMs" | "rungInVainAt">,
): string | undefined {
  const { alarms, isExact, since, now, graceMs = 0, rungInVainAt = 0 } = outlook;
  if (due === null) {
    return claimableAt === null ? undefined : `it is due never, but may be claimed at ${time(claimableAt)}`;
  }
  const againMs = rungInVainAt < due ? 0 : rungInVainAt - due + ringAgainMs(rungInVainAt - due) + minuteMs;
  const latestRing = due + Math.max(twoMinutes, againMs) + graceMs;
  const stands = alarms.some(({ at, isUnarmed }) => (at <= latestRing || isUnarmed) && (at >= due || !isExact));
  if (!stands) {
    return `it is due at ${time(due)}, but alarms stand for ${alarms.map(({ at }) => time(at)).join(", ") || "nothing"}`;
  }
  // What the scheduler dispatched, it looks at again a minute later; what nobody claims, less and less often.
  const from = dispatches > 0 || isRefused ? Math.max(claimableAt ?? 0, now) : Math.max(claimableAt ?? 0, since);
  const latest = claimableAt === null ? Number.POSITIVE_INFINITY : from + twoMinutes + 60_000 * 2 ** dispatches;
  // Of a clock that was set back: the alarm that was armed for the due instant rings as soon as it would have.
  const isFoundEarly = alarms.some(
    ({ readyUntil = 0, ringsAt }) => readyUntil >= due && ringsAt <= latest + twoMinutes + graceMs,
  );
  return due <= latest || isFoundEarly
    ? undefined
    : `it may be claimed at ${time(claimableAt)}, but is due as late as ${time(due)}`;
}

function time(ms: number | null): string {
  return ms === null ? "never" : new Date(ms).toISOString().slice(11, 23);
}

const liveRuns = `
  select s.run_id, s.turn, layover.to_ms(s.due_at)::float8 as due,
      layover.to_ms(least(case when s.status = 'running' then s.leased_until else s.ready_at end, b.claimable_at))::float8
        as "claimableAt",
      greatest(s.dispatches, b.dispatches)::integer as dispatches, s.refused_by is not null as "isRefused"
    from layover.run_state s join layover.run r on r.id = s.run_id
    left join lateral (
      select min(coalesce(c.leased_until, c.ready_at)) as claimable_at, max(c.dispatches) as dispatches
        from layover.pending c
       where c.run_id = s.run_id and c.kind = 'branch' and c.position is null and not c.is_queued
         and not c.is_released
    ) as b on true
   where s.namespace = $1 and r.workflow || '/' || r.version = any($2) and s.ended_at is null and s.paused_at is null and s.blocked is null
     and not exists (select from layover.environment e where e.namespace = $1 and (e.name, e.endpoint) <> ($3, $4))`;

const keptSignals = `
  select k.user_id, layover.to_ms(k.due_at)::float8 as due from layover.kept_signal k
   where k.namespace = $1
     and not exists (select from layover.environment e where e.namespace = $1 and (e.name, e.endpoint) <> ($3, $4))`;

const liveSchedules = `
  select v.name, layover.to_ms(v.due_at)::float8 as due, 0 as dispatches,
      case when not exists (select from layover.workflow_pause q
        where q.namespace = $1 and q.workflow = v.workflow and q.resumed_at is null) then layover.to_ms(v.fires_at)::float8 end as "claimableAt"
    from layover.schedule v
   where v.namespace = $1 and v.workflow || '/' || v.version = any($2) and v.paused_at is null
     and not exists (select from layover.environment e where e.namespace = $1 and (e.name, e.endpoint) <> ($3, $4))`;

/** One statement, planned once for each connection, since a world asks after each of its own. */
const live = `select ${Object.entries({ runs: liveRuns, kept: keptSignals, schedules: liveSchedules })
  .map(([name, rows]) => `(select coalesce(json_agg(x), '[]') from (${rows}) as x) as ${name}`)
  .join(", ")}`;
