/** What the state of a world implies: who is ready, what is due, which slots are free. */
import { dueFor, motionMinute, punctual } from "../../src/core/waking.ts";
import type { NewDemand } from "../../src/postgres/wire.ts";
import { type Lease, noLosses, type Place, type Row, type Run, type Setback } from "./run.ts";
import { callMs, commitMs, minute, mostSpared, tryAfterMs } from "./settings.ts";
import type { World } from "./world.ts";

export function findRun(world: World, id: string, namespace: string): Run | undefined {
  return world.runs.find((run) => run.id === id && run.namespace === namespace);
}

export function findRow(run: Run, { path, occurrence }: Place): Row | undefined {
  return run.rows.find((row) => row.path === path && row.occurrence === occurrence);
}

export function isSamePlace(one: Place, other: Place): boolean {
  return one.path === other.path && one.occurrence === other.occurrence;
}

export function isOver(run: Run): boolean {
  return run.status !== "parked" && run.status !== "running";
}

/** Tells whether nobody works on the run, and nobody is to. */
export function isStill(run: Run): boolean {
  return isOver(run) || run.pausedAt !== undefined || run.isBlocked;
}

export function isLive(lease: Lease | undefined, now: number): boolean {
  return lease !== undefined && lease.until > now;
}

/** When the next claim is to write into the history that the run closes, or that its cleanups have taken too long. */
export function stopsAt({ cancel, cancelledPosition, timeoutAt, ending }: Run): number | undefined {
  if (ending !== undefined) return undefined;
  if (cancel === undefined) return cancelledPosition === undefined ? timeoutAt : undefined;
  return cancelledPosition === undefined ? 0 : timeoutAt;
}

/** Tells whether a cancel was asked for, or a timeout has passed, that is not in the history yet. */
export function isToBeCancelled(run: Run, now: number): boolean {
  const at = stopsAt(run);
  return at !== undefined && at <= now;
}

/** Tells whether a claim has to write first that the run closes, or its handler has ended. */
export function isAboutToClose(run: Run, now: number): boolean {
  return run.isClosing || isToBeCancelled(run, now);
}

/**
 * Deletes rows. A branch that somebody has claimed, and that has no record, leaves an attempt: it may have had its
 * effect.
 */
export function dropRows(run: Run, isDropped: (row: Row) => boolean): void {
  for (const row of run.rows.filter(isDropped)) {
    const attempt = `${row.path}#${row.occurrence}/${row.attempts + 1}`;
    const isOpen = row.hasBegun && row.position === undefined && (row.lease !== undefined || row.attempts === 0);
    if (isOpen) run.attempts.add(attempt);
  }
  run.rows = run.rows.filter((row) => !isDropped(row));
}

/** Nothing of it is claimed any more. What is at work may still be recorded. */
export function releaseAll(run: Run, isReleased: (row: Row) => boolean): void {
  const released = { isReleased: true, isQueued: false, isCounted: false, map: undefined };
  for (const row of run.rows) if (isReleased(row)) Object.assign(row, released);
  run.maps.clear();
}

export function isReady(run: Run, now: number): boolean {
  return run.readyAt !== undefined && run.readyAt <= now;
}

/** Tells whether somebody works on the branch, or is to, now or later. */
export function isAtWork(row: Row): boolean {
  return row.kind === "branch" && row.position === undefined && !row.isQueued && !row.isReleased;
}

export function waitedFor(run: Run, map: string): Row[] {
  return run.rows.filter((row) => row.map === map && row.isCounted);
}

/** Counts the free slots of a map; infinitely many where it is unbounded. */
export function freeSlots(run: Run, map: string): number {
  const bodies = run.rows.filter((row) => row.map === map && row.position === undefined && !row.isQueued);
  return (run.maps.get(map)?.slots ?? Number.POSITIVE_INFINITY) - bodies.length;
}

/** Tells whether there is a signal or an answer that would end this wait. */
export function isAnswered(run: Run, row: Row): boolean {
  if (row.isReleased) return false;
  const isInTime = (at: number) => row.until === undefined || at <= row.until;
  if (row.kind === "signal") {
    return run.signals.some(
      ({ name, takenAt, receivedAt }) => name === row.signal && takenAt === undefined && isInTime(receivedAt),
    );
  }
  return (
    row.kind === "callback" && run.answers.some((answer) => isSamePlace(answer, row) && answer.takenAt === undefined)
  );
}

/** Arms what a caller arms before it calls, and answers these instants. They ring whatever becomes of the call. */
export function armedFor(world: World, wakeInstants: readonly number[]): readonly number[] {
  const margin = world.now + callMs + commitMs;
  const looks = wakeInstants.filter((at) => at > margin).map((at) => dueFor(at, world.now, punctual));
  const armed = [...new Set([motionMinute(world.now), ...looks])];
  arm(world, armed);
  return armed;
}

export function arm(world: World, instants: readonly number[]): void {
  world.armed = [...new Set([...world.armed, ...instants])];
}

/** Allows that no alarm stands until then for what is to be looked at from now on. */
export function excuse(world: World, until: number): void {
  world.lateUntil = Math.max(world.lateUntil, until);
}

export function earliest(...instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

export function use(run: Run, { path, occurrence }: Place): void {
  run.occurrences.set(path, Math.max(occurrence, run.occurrences.get(path) ?? 0));
}

export function freshToken(world: World): string {
  world.numbers.token += 1;
  return `10000000-0000-4000-8000-${world.numbers.token.toString(16).padStart(12, "0")}`;
}

/** Gives free slots to the head of the queue. Answers the branches that got them. */
export function fillSlots(run: Run, map: string, now: number): Row[] {
  const filled: Row[] = [];
  const queue = run.rows.filter((row) => row.map === map && row.isQueued).sort((a, b) => a.ordinal - b.ordinal);
  for (const row of queue) {
    if (freeSlots(run, map) < 1) break;
    row.isQueued = false;
    row.readyAt = now;
    filled.push(row);
  }
  return filled;
}

export function toRow(demand: NewDemand, now: number): Row {
  const { path, occurrence, kind, demandedAfter, ordinal, signal, until, map, isShielded = false } = demand;
  const ofMap = kind === "branch" ? map?.path : undefined;
  return {
    path,
    occurrence,
    kind,
    demandedAfter,
    ordinal,
    signal,
    until,
    isShielded,
    hasBegun: false,
    map: ofMap,
    turn: 1,
    attempts: 0,
    loneClaims: 0,
    beginnings: 0,
    begun: undefined,
    losses: noLosses,
    dispatches: 0,
    isQueued: false,
    isCounted: ofMap !== undefined,
    isReleased: false,
    readyAt: kind === "branch" ? now : undefined,
    lease: undefined,
    lastFinish: undefined,
    setback: undefined,
    position: undefined,
  };
}

/** Answers how many turns may be claimed in one call with it, itself included. Null: any number. */
export function groupSizeOf({ losses, lease }: Run | Row): number | null {
  const count = losses.count - losses.spared + Number(lease !== undefined);
  return count < 2 ? null : ([16, 4][count - 2] ?? 1);
}

/** Counts a loss: it is claimed again, and its last lease was not finished. */
export function lose(of: Run | Row, { token }: Lease): void {
  of.losses = { ...of.losses, count: of.losses.count + 1, token };
}

/** Notes that a turn did not get on: the run's, or one of its branch. Answers when it is tried again; undefined: it was tried often enough. */
export function setBack(run: Run, of: Run | Row, now: number): number | undefined {
  const before = of.setback?.turn === of.turn ? of.setback : undefined;
  of.setback = nextTry(before, of.turn + 1, now);
  return of.setback?.until ?? (isToBeCancelled(run, now) ? now : undefined);
}

function nextTry(before: Setback | undefined, turn: number, now: number): Setback | undefined {
  if (before !== undefined && before.until > now) return { ...before, turn };
  const { since, tries } = before ?? { since: now, tries: 0 };
  const afterMs = tryAfterMs[tries];
  if (afterMs === undefined) return undefined;
  const at = (since + afterMs > now ? since : now) + afterMs;
  return { turn, tries: tries + 1, since, until: Math.ceil(at / minute) * minute };
}

/** Answers the setback, if it still counts. */
export function standingSetback({ setback, turn }: Run | Row): Setback | undefined {
  return setback?.turn === turn ? setback : undefined;
}

/** Sets a branch back. Its map does not wait for it, and goes on without it if nobody else is at work. */
export function setBackRow(run: Run, row: Row, now: number): boolean {
  const until = setBack(run, row, now);
  row.turn += 1;
  row.lease = undefined;
  row.loneClaims = 0;
  if (until === undefined) {
    row.beginnings = 0;
    row.losses = noLosses;
    run.isBlocked = true;
    return false;
  }
  row.readyAt = until;
  if (row.isCounted && row.map !== undefined) {
    row.isCounted = false;
    if (waitedFor(run, row.map).length === 0) run.readyAt = earliest(run.readyAt, now);
  }
  return true;
}

/** Notes that the holder of the lease that was lost last is alive, so that this loss is spared. */
export function spare(of: Run | Row, token: string): void {
  const { count, spared } = of.losses;
  if (of.losses.token !== token || spared >= Math.min(count, mostSpared)) return;
  of.losses = { count, spared: spared + 1, token: undefined };
}
