/** The world as it should be found in the tables after a command; `play.sql` reads the same from there. */
import { freeSlots, isLive, standingSetback, waitedFor } from "./rules.ts";
import type { Place, Row, Run } from "./run.ts";
import type { World } from "./world.ts";

export type Facts = Readonly<Record<string, unknown>>;

export function factsOf(world: World): Facts {
  return Object.fromEntries(world.runs.map((run) => [run.id, factsOfRun(run, world.now)]));
}

function factsOfRun(run: Run, now: number): Facts {
  return {
    code: [run.version, run.signature],
    status: run.status,
    turn: run.turn,
    handed: run.handed,
    claims: run.loneClaims,
    beginnings: run.beginnings,
    begun: run.begun ?? null,
    losses: [run.losses.count, run.losses.spared],
    dispatches: run.dispatches,
    historyBytes: run.historyBytes,
    lastRecordAt: run.lastRecordAt,
    token: run.lease?.token ?? null,
    leasedUntil: run.lease?.until ?? null,
    readyAt: readiness(run.readyAt, now),
    isBlocked: run.isBlocked,
    pausedAt: run.pausedAt ?? null,
    isHeld: run.pausedAt !== undefined && run.isHeld,
    timeoutAt: run.timeoutAt ?? null,
    operations: run.operations.size,
    refusedBy: [...run.refusals.keys()].sort(),
    setback: factsOfSetback(run),
    closed: [...run.closed],
    says: run.says,
    cancelledPosition: run.cancelledPosition ?? null,
    closing: [
      run.isClosing,
      run.endsAs ?? null,
      run.isInterrupted,
      run.ending?.position ?? null,
      run.ending?.undos ?? null,
      run.ending?.failed ?? null,
    ],
    endedAt: run.endedAt ?? null,
    result: run.result,
    error: run.error,
    records: run.history.map(({ kind, path, occurrence, value, isFailure, at, attempts }) => [
      kind,
      path,
      occurrence,
      value,
      isFailure,
      at,
      attempts,
    ]),
    rows: byName(
      run.rows
        .filter((row) => !row.isReleased || isLive(row.lease, now))
        .map((row) => [nameOf(row), factsOfRow(row, now)]),
    ),
    maps: byName(
      [...run.maps.keys()]
        .filter((path) => run.rows.some(({ map }) => map === path))
        .map((path) => [path, [waitedFor(run, path).length, finite(freeSlots(run, path))]]),
    ),
    signals: run.signals.map(({ number, takenAt }) => [number, takenAt ?? null]),
    callbacks: byName(
      run.answers.map((answer) => [nameOf(answer), [answer.outcome, answer.value, answer.takenAt ?? null]]),
    ),
    attempts: [...run.attempts].sort(),
  };
}

function factsOfRow(row: Row, now: number): unknown[] {
  return [
    row.kind,
    row.demandedAfter,
    row.signal ?? null,
    row.until ?? null,
    row.turn,
    row.attempts,
    row.loneClaims,
    row.beginnings,
    row.begun ?? null,
    [row.losses.count, row.losses.spared],
    row.dispatches,
    row.isQueued,
    row.isCounted,
    row.isReleased,
    row.position === undefined ? readiness(row.readyAt, now) : null,
    row.lease?.token ?? null,
    row.lease?.until ?? null,
    row.position ?? null,
    row.position === undefined ? factsOfSetback(row) : null,
  ];
}

function factsOfSetback(of: Run | Row): unknown {
  const setback = standingSetback(of);
  return setback === undefined || ("endedAt" in of && of.endedAt !== undefined)
    ? null
    : [setback.tries, setback.since, setback.until];
}

/** Answers when something becomes ready. All instants that have passed are alike, as `now`. */
function readiness(at: number | undefined, now: number): number | null {
  return at === undefined ? null : Math.max(at, now);
}

function finite(count: number): number | null {
  return Number.isFinite(count) ? count : null;
}

export function nameOf({ path, occurrence }: Place): string {
  return `${path}#${occurrence}`;
}

/** Sorts entries by their names. They stay a list, so that a comparison looks at all keys of both sides. */
function byName(entries: [string, unknown][]): unknown[] {
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}
