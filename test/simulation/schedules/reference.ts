/**
 * What each call makes of a schedule: a small model, which is compared with the rows after every statement. It decides with
 * the row as it was, the database's time, and what the call says.
 */
import type { DeclaredSchedule } from "../../../src/postgres/wire-scheduler.ts";
import { instantsFrom, jitterOf, minuteMs, nextInstant } from "./calendar.ts";

/** A row of `schedule`, as the model has it. Times are epoch milliseconds of the database's clock. */
export interface Row {
  readonly name: string;
  readonly owner: string | null;
  readonly definition: DeclaredSchedule;
  readonly next: number | null;
  readonly fires: number | null;
  readonly due: number | null;
  readonly last: number | null;
  readonly fired: number;
  readonly skipped: number;
  readonly inRow: number;
  readonly cause: string | null;
  readonly isPaused: boolean;
  /** The run that it started last. */
  readonly lastRun: string | null;
  /** Whether any run of it is not over. */
  readonly isAtWork: boolean;
}

/** What other deployments declare under its name. */
export type Declarations = Readonly<Record<string, DeclaredSchedule>>;
type Shared = Row & { readonly declarations: Declarations };

/** When the scheduler has to look: never, or so early that the instant is served. `same`: nothing may have changed it. */
export type Due = "never" | "in time" | "same";

export interface Expected {
  readonly row: Omit<Row, "due" | "lastRun" | "isAtWork">;
  readonly due: Due;
  /** The ids of the runs that it starts. */
  readonly runs: readonly string[];
}

const mostRuns = 100;
/** How late a firing may be that `catchUp: "none"` still makes. */
const lateMs = 5 * minuteMs;

export function unchanged(row: Row): Expected {
  return { row, due: "same", runs: [] };
}

/** What a tick does to a schedule, which it has listed. */
export function fired(row: Row, now: number, isHeld: boolean): Expected {
  if (row.due === null || row.due > now || row.next === null || row.fires === null) return unchanged(row);
  if (isHeld) return { row, due: "never", runs: [] };
  if (row.fires > now) return { row, due: "in time", runs: [] };
  const { name, definition } = row;
  const { catchUp = "latest", overlap = "skip" } = definition;
  const instants = instantsFrom(definition, row.next, now).filter((at) => at + jitterOf(name, definition, at) <= now);
  const last = instants.at(-1) ?? row.next;
  const wanted = catchUp === "all" ? instants.slice(0, mostRuns) : [last];
  const isTooLate = catchUp === "none" && last + jitterOf(name, definition, last) < now - lateMs;
  const isLeftOut = overlap === "skip" && row.isAtWork;
  const runs = isTooLate || isLeftOut ? [] : wanted.map((at) => idOf(name, at));
  const isMissed = instants.length > wanted.length || isTooLate;
  const isOverlap = isLeftOut && !isTooLate;
  // What was missed comes first, but where the first hundred are made up for: then it is what comes after them.
  const isMissedLast = isTooLate || (catchUp === "all" && isMissed);
  const skips = Number(isMissed) + Number(isOverlap);
  const counted = {
    fired: row.fired + runs.length,
    skipped: row.skipped + skips,
    inRow: runs.length > 0 ? Number(isMissedLast) : row.inRow + skips,
    cause: isOverlap ? "overlap" : isMissed ? "missed" : row.cause,
    last,
  };
  return { ...calendar({ ...row, ...counted }, last), runs };
}

/** What a build makes of a schedule that it declares. Undefined: there was none. */
export function declared(
  row: Row | undefined,
  { name, owner, definition, now }: Pick<Row, "name" | "owner" | "definition"> & { readonly now: number },
): Expected {
  if (row === undefined) return calendar({ ...fresh, name, owner, definition }, now);
  return row.owner !== owner || isSame(row.definition, definition) ? unchanged(row) : edited(row, definition, now);
}

/** What becomes of it when another deployment takes it over. */
export function adopted(row: Shared, owner: string, now: number): Expected {
  const definition = row.declarations[owner];
  return definition === undefined || row.owner === owner ? unchanged(row) : edited({ ...row, owner }, definition, now);
}

/** What becomes of it when its owner declares it no more: another one has it that is alive, or nobody. */
export function* givenUp(row: Shared, live: readonly string[], now: number): Generator<Expected> {
  const heirs = live.filter((name) => Object.hasOwn(row.declarations, name)).toSorted();
  const alike = heirs.find((name) => isSame(row.declarations[name] ?? row.definition, row.definition));
  const heir = alike ?? heirs[0];
  if (heir !== undefined) yield adopted(row, heir, now);
}

function edited(row: Row, definition: DeclaredSchedule, now: number): Expected {
  const changed = { ...row, definition };
  if (calendarPart(row.definition) === calendarPart(definition))
    return { row: changed, due: row.isPaused || row.next === null ? "never" : "in time", runs: [] };
  const after = Math.max(row.last ?? 0, row.next === null ? now : Math.min(now, row.next - 1));
  return calendar(changed, after);
}

export function paused(row: Row): Expected {
  return { row: { ...row, isPaused: true }, due: "never", runs: [] };
}

export function resumed(row: Row): Expected {
  if (!row.isPaused) return unchanged(row);
  return { row: { ...row, isPaused: false, inRow: 0 }, due: row.next === null ? "never" : "in time", runs: [] };
}

/** What becomes of it when its workflow is resumed. */
export function lookedAtAgain(row: Row): Expected {
  return { row, due: row.isPaused || row.next === null ? "never" : "in time", runs: [] };
}

export function triggered(row: Row, runId: string, ignoresOverlap: boolean): Expected {
  const { overlap = "skip" } = row.definition;
  if (row.lastRun === runId || (overlap === "skip" && row.isAtWork && !ignoresOverlap)) return unchanged(row);
  return { row: { ...row, fired: row.fired + 1, inRow: 0 }, due: "same", runs: [`${row.name}@${runId}`] };
}

function idOf(name: string, at: number): string {
  return `${name}@${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Its next instant after another one. */
function calendar(row: Expected["row"], after: number): Expected {
  const next = nextInstant(row.definition, after);
  const fires = next === null ? null : next + jitterOf(row.name, row.definition, next);
  return { row: { ...row, next, fires }, due: row.isPaused || next === null ? "never" : "in time", runs: [] };
}

function calendarPart({ cron, everyMs, startAt, at, jitterMs }: DeclaredSchedule): string {
  return JSON.stringify([cron, everyMs, startAt, at, jitterMs]);
}

export function isSame(one: DeclaredSchedule, other: DeclaredSchedule): boolean {
  const sorted = (definition: DeclaredSchedule) => JSON.stringify(Object.entries(definition).toSorted());
  return sorted(one) === sorted(other);
}

const fresh = { next: null, fires: null, last: null, fired: 0, skipped: 0, inRow: 0, cause: null, isPaused: false };
