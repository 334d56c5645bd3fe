/**
 * Looks at the rows after each statement, and says what is wrong with them: of a schedule whatever the reference does not
 * expect of this call, and runs that no firing has started.
 */
import type { Pool } from "pg";
import type { DeclaredSchedule } from "../../../src/postgres/wire-scheduler.ts";
import { twoMinutes } from "../../engine/watch.ts";
import {
  adopted,
  type Declarations,
  declared,
  type Expected,
  fired,
  givenUp,
  isSame,
  lookedAtAgain,
  paused,
  type Row,
  resumed,
  triggered,
  unchanged,
} from "./reference.ts";

interface Snapshot {
  readonly now: number;
  readonly rows: ReadonlyMap<string, Seen["schedules"][number]>;
  /** The ids of all runs that schedules have started. */
  readonly runs: ReadonlySet<string>;
  readonly open: readonly Open[];
  /** Workflows that are paused. */
  readonly held: ReadonlySet<string>;
  /** The names of deployments that are alive. */
  readonly live: readonly string[];
}

/** A run of a schedule that is not over. `id` is the user's. */
interface Open {
  readonly schedule: string;
  readonly id: string;
}

/** What a call says of itself. */
interface Call {
  readonly name?: string;
  readonly names?: readonly string[];
  readonly deploymentName?: string;
  readonly schedules?: Readonly<Record<string, DeclaredSchedule>>;
  readonly definition?: DeclaredSchedule;
  readonly workflow?: string;
  readonly runId?: string;
  readonly ignoresOverlap?: boolean;
  readonly owner?: string;
}

/** How late a firing may be when nothing goes wrong, in milliseconds: a look at the motion minute, by an alarm that rings late. */
export const latestMs = 2 * twoMinutes + 60_000;

export class Court {
  readonly wrongs: string[] = [];
  readonly #pool: Pool;
  readonly #namespace: string;
  #before: Snapshot = { now: 0, rows: new Map(), runs: new Set(), open: [], held: new Set(), live: [] };
  /** When each schedule was made, changed or resumed the last time. Only the time has kept it from firing since. */
  readonly #readySince = new Map<string, number>();
  /** The ids of runs at work whose schedule was deleted. A new one of that name does not know them, unless they are restarted. */
  #strange: ReadonlySet<string> = new Set();
  /** The end of what went wrong last, by the database's clock. */
  #troubleUntil = 0;

  constructor(pool: Pool, namespace: string) {
    this.#pool = pool;
    this.#namespace = namespace;
  }

  get runs(): ReadonlySet<string> {
    return this.#before.runs;
  }

  /** Excuses what comes late because of something that ends at this instant. */
  excuse(until: number): void {
    this.#troubleUntil = Math.max(this.#troubleUntil, until);
  }

  /** Looks at the rows after this function was called. `hasFailed`: the database has refused the call. */
  async judge(name: string, parameter: string, hasFailed: boolean): Promise<void> {
    const before = this.#before;
    const after = await this.#look();
    this.#before = after;
    const wrong = (what: string) => this.wrongs.push(`after ${name}: ${what}`);
    const given: Call = JSON.parse(parameter);
    const expected = hasFailed
      ? [...before.rows.values()].map(unchanged)
      : [...expectations(name, given, before, after)];
    for (const each of expected) {
      const row = after.rows.get(each.row.name);
      const old = before.rows.get(each.row.name);
      for (const what of row === undefined ? ["it is gone"] : differences(each, row, old, after.now))
        wrong(`of the schedule ${each.row.name}: ${what}`);
      if (old !== undefined && name === "fire_schedules" && each.runs.length > 0)
        this.#checkLateness(old, after.now, wrong);
      if (each.due === "in time" && name !== "fire_schedules") this.#readySince.set(each.row.name, after.now);
    }
    for (const one of after.rows.keys())
      if (!expected.some(({ row }) => row.name === one)) wrong(`the schedule ${one} is there`);
    const wanted = new Set(expected.flatMap(({ runs }) => runs));
    for (const id of wanted) if (before.runs.has(id)) wrong(`the run ${id} is to start, and was there`);
    for (const id of wanted) if (!after.runs.has(id)) wrong(`the run ${id} did not start`);
    for (const id of after.runs) if (!before.runs.has(id) && !wanted.has(id)) wrong(`the run ${id} started`);
  }

  /** Nothing is left to do: what is due was fired. */
  async end(): Promise<void> {
    const { now, rows, held } = await this.#look();
    for (const { name, due, fires, isPaused, workflow, fired: count } of rows.values()) {
      if (isPaused || held.has(workflow) || fires === null) continue;
      if (fires < now - latestMs)
        this.wrongs.push(`${name} was to fire at ${time(fires)}, and has not at ${time(now)}`);
      if (due === null) this.wrongs.push(`${name} has an instant to come, and nobody looks at it`);
      const runs = [...this.runs].filter((id) => id.startsWith(`${name}@`)).length;
      if (runs < count) this.wrongs.push(`${name} says that it has fired ${count} times, and there are ${runs} runs`);
    }
  }

  #checkLateness({ name, fires }: Row, now: number, wrong: (what: string) => void): void {
    const from = Math.max(fires ?? 0, this.#readySince.get(name) ?? 0, this.#troubleUntil);
    if (now - from > latestMs) wrong(`of the schedule ${name}: it is fired ${(now - from) / 1_000} s late`);
  }

  async #look(): Promise<Snapshot> {
    const { rows } = await this.#pool.query<{ readonly seen: Seen }>(snapshot, [this.#namespace]);
    const [seen] = rows.map((row) => row.seen);
    if (seen === undefined) throw new Error("there is no snapshot");
    const { open } = seen;
    const isThere = (name: string) => seen.schedules.some((row) => row.name === name);
    const strange = open.filter(({ schedule, id }) => this.#strange.has(id) || !isThere(schedule));
    this.#strange = new Set(strange.map(({ id }) => id));
    const isAtWork = (name: string) => open.some(({ schedule, id }) => schedule === name && !this.#strange.has(id));
    return {
      now: seen.now,
      open,
      live: seen.live,
      rows: new Map(seen.schedules.map((row) => [row.name, { ...row, isAtWork: isAtWork(row.name) }])),
      runs: new Set([...this.runs, ...seen.runs]),
      held: new Set(seen.held),
    };
  }
}

interface Seen {
  readonly now: number;
  readonly schedules: readonly (Row & { readonly workflow: string; readonly declarations: Declarations })[];
  readonly live: readonly string[];
  readonly runs: readonly string[];
  readonly open: readonly Open[];
  readonly held: readonly string[];
}

/** What is to be of each schedule after a call. What the call deletes is left out. */
function* expectations(name: string, call: Call, before: Snapshot, { now, live }: Snapshot): Generator<Expected> {
  for (const row of before.rows.values()) {
    const isMeant = row.name === call.name;
    switch (name) {
      case "fire_schedules":
        yield call.names?.includes(row.name) === true ? fired(row, now, before.held.has(row.workflow)) : unchanged(row);
        break;
      case "note_deployment": {
        const definition = call.schedules?.[row.name];
        const { owner } = row;
        if (call.schedules === undefined || (definition === undefined && owner !== call.deploymentName))
          yield unchanged(row);
        else if (definition === undefined) yield* givenUp(row, live, now);
        else yield declared(row, { name: row.name, owner: call.deploymentName ?? null, definition, now });
        break;
      }
      case "create_schedule":
        yield unchanged(row);
        break;
      case "pause_schedule":
        yield isMeant && !row.isPaused ? paused(row) : unchanged(row);
        break;
      case "resume_schedule":
        yield isMeant ? resumed(row) : unchanged(row);
        break;
      case "adopt_schedule":
        yield isMeant && call.owner !== undefined ? adopted(row, call.owner, now) : unchanged(row);
        break;
      case "trigger_schedule":
        yield isMeant && call.runId !== undefined && !before.runs.has(`${row.name}@${call.runId}`)
          ? triggered(row, call.runId, call.ignoresOverlap === true)
          : unchanged(row);
        break;
      case "delete_schedule":
        if (!isMeant || row.owner !== null) yield unchanged(row);
        break;
      case "resume_workflow":
        yield row.workflow === call.workflow ? lookedAtAgain(row) : unchanged(row);
        break;
      default:
        yield unchanged(row);
    }
  }
  if (name === "note_deployment")
    for (const [added, definition] of Object.entries(call.schedules ?? {}))
      if (!before.rows.has(added))
        yield declared(undefined, { name: added, owner: call.deploymentName ?? null, definition, now });
  if (
    name === "create_schedule" &&
    call.name !== undefined &&
    call.definition !== undefined &&
    !before.rows.has(call.name)
  )
    yield declared(undefined, { name: call.name, owner: null, definition: call.definition, now });
}

/** How a row differs from what was expected of it. */
export function* differences({ row, due }: Expected, is: Row, was: Row | undefined, now: number): Generator<string> {
  if (!isSame(row.definition, is.definition)) yield "its definition is another one";
  for (const key of ["owner", "next", "fires", "last", "fired", "skipped", "inRow", "cause", "isPaused"] as const)
    if (row[key] !== is[key]) yield `${key} is ${shown(is[key])} instead of ${shown(row[key])}`;
  if (due === "never" && is.due !== null) yield `it is due at ${time(is.due)} instead of never`;
  if (due === "same" && is.due !== (was?.due ?? null))
    yield `it is due at ${time(is.due)} instead of ${time(was?.due ?? null)}`;
  if (due !== "in time") return;
  const latest = Math.max(row.fires ?? 0, now + twoMinutes);
  if (is.due === null || is.due > latest) yield `it is due at ${time(is.due)} instead of by ${time(latest)}`;
}

function shown(value: Row[keyof Row]): string {
  return typeof value === "number" && value > 1e12 ? time(value) : JSON.stringify(value);
}

function time(ms: number | null): string {
  return ms === null ? "never" : new Date(ms).toISOString();
}

/** SQL of a row: `v` is the schedule. It says whether a run of it is at work by another SQL. */
export function rowText(isAtWork: string): string {
  return `json_build_object('name', v.name, 'owner', v.owner, 'declarations', coalesce(v.declarations, '{}'), 'definition', v.definition, 'workflow', v.workflow,
            'next', layover.to_ms(v.next_at), 'fires', layover.to_ms(v.fires_at), 'due', layover.to_ms(v.due_at),
            'last', layover.to_ms(v.last_at), 'fired', v.fired, 'skipped', v.skipped, 'inRow', v.skipped_in_row,
            'cause', v.last_skip->>'cause', 'isPaused', v.paused_at is not null, 'lastRun', v.last_run_id,
            'isAtWork', ${isAtWork})`;
}

const snapshot = `
  select json_build_object('now', layover.to_ms(layover.now()),
      'schedules', coalesce((
        select json_agg(${rowText("false")} order by v.name) from layover.schedule v where v.namespace = $1), '[]'),
      'runs', coalesce((select json_agg(r.user_id) from layover.run r
        where r.namespace = $1 and r.created_at = layover.now()), '[]'),
      'open', coalesce((select json_agg(json_build_object('schedule', r.scheduled->>'schedule', 'id', r.user_id))
        from layover.run r join layover.run_state t on t.run_id = r.id
        where r.namespace = $1 and r.scheduled is not null and t.ended_at is null), '[]'),
      'live', coalesce((select json_agg(distinct l.name) from layover.live_deployments($1) as l), '[]'),
      'held', coalesce((select json_agg(q.workflow) from layover.workflow_pause q
        where q.namespace = $1 and q.resumed_at is null), '[]')) as seen`;
