/** What the scheduler sees and moves, how leases are renewed, given back and voided, and when a run is forgotten. */
import { dueFor, dueForTimeout, motionMinute, punctual } from "../../src/core/waking.ts";
import type { RenewTurn, ReturnTurn } from "../../src/postgres/wire.ts";
import type { Move } from "../../src/postgres/wire-scheduler.ts";
import { hasRefused, hasTaker } from "./refusals.ts";
import {
  arm,
  earliest,
  excuse,
  findRow,
  findRun,
  groupSizeOf,
  isAtWork,
  isOver,
  isReady,
  isSamePlace,
  spare,
} from "./rules.ts";
import type { Answer, Row, Run } from "./run.ts";
import { leaseMs, longestBackoffMs, minute } from "./settings.ts";
import type { Listed, ListedRun, Listing, World } from "./world.ts";

export interface ListTerms {
  readonly namespace: string;
  readonly isNew: boolean;
  readonly withinMs: number;
  /** How far ahead a run may be due that is ready already, in milliseconds. */
  readonly readyWithinMs: number | undefined;
  readonly limit: number;
  readonly carries: (run: Run) => boolean;
  /** Id of the deployment that asks. */
  readonly by?: string | undefined;
  readonly after: { readonly dueAt: number | null; readonly runId: string } | undefined;
}

export function list(world: World, terms: ListTerms): Listing {
  const { now } = world;
  const { namespace, isNew, withinMs, readyWithinMs = 0, limit, carries, by, after } = terms;
  const runs = world.runs
    .filter(
      (run) =>
        run.namespace === namespace &&
        carries(run) &&
        (isDue(run, now + withinMs) || isOfInterest(run, now, { isNew, readyUntil: now + readyWithinMs })),
    )
    .map((run) => withoutDispatches(look(run, now, now + withinMs), hasRefused(world, run, by)))
    .filter((listed) => after === undefined || isBehind(listed, after))
    .sort((one, other) => (isBehind(one, other) ? 1 : -1))
    .slice(0, limit);
  return { namespace, now, isNew, withinMs, readyWithinMs, limit, runs };
}

export function nextDueAt(world: World, namespace: string): number | null {
  const later = world.runs.flatMap(({ dueAt, namespace: its }) =>
    its === namespace && dueAt !== undefined && dueAt > world.now ? [dueAt] : [],
  );
  return earliest(...later) ?? null;
}

function isDue(run: Run, now: number): boolean {
  return run.dueAt !== undefined && run.dueAt <= now;
}

/**
 * Tells whether a run is looked at before it is due. A deployment that has just begun looks at all runs that are ready
 * or blocked. After the clock was set back, each deployment looks at those that are ready and due by `readyUntil`.
 */
function isOfInterest(
  run: Run,
  now: number,
  { isNew, readyUntil }: { readonly isNew: boolean; readonly readyUntil: number },
): boolean {
  if (isOver(run) || run.pausedAt !== undefined) return false;
  if (run.isBlocked) return isNew;
  const hasWork = run.rows.some((row) => isAtWork(row) && (row.lease?.until ?? row.readyAt ?? 0) <= now);
  return (isReady(run, now) || hasWork) && (isNew || isDue(run, readyUntil));
}

function isBehind(
  run: { dueAt: number | null; runId: string },
  other: { dueAt: number | null; runId: string },
): boolean {
  const [at, otherAt] = [run.dueAt ?? Number.POSITIVE_INFINITY, other.dueAt ?? Number.POSITIVE_INFINITY];
  return at > otherAt || (at === otherAt && run.runId > other.runId);
}

/** Answers the run as never dispatched, where another deployment is to claim it. */
function withoutDispatches(run: ListedRun, isRefused: boolean): ListedRun {
  if (!isRefused) return run;
  return { ...run, dispatches: 0, branches: run.branches.map((branch) => ({ ...branch, dispatches: 0 })) };
}

function look(run: Run, now: number, soon: number): ListedRun {
  const isFree = run.lease === undefined ? isReady(run, now) || run.isBlocked : run.lease.until <= now;
  const work = run.rows.filter(isAtWork);
  const instantOf = ({ lease, readyAt }: Row | Run) => lease?.until ?? readyAt;
  const timeoutAt = run.timeoutAt !== undefined && run.timeoutAt > now ? run.timeoutAt : undefined;
  const later = work.filter((row) => !isNow(row, now));
  const own = earliest(isFree ? undefined : instantOf(run), timeoutAt);
  return {
    runId: run.id,
    turn: run.turn,
    dueAt: run.dueAt ?? null,
    dispatches: run.dispatches,
    isReady: isFree,
    isUnfinished: run.status === "running",
    groupSize: groupSizeOf(run),
    nextAt: earliest(own, ...later.map(instantOf)) ?? null,
    ownAt: run.lease?.until ?? own ?? null,
    timeoutAt: timeoutAt ?? null,
    later: later.flatMap((row) => {
      const { path, occurrence, turn } = row;
      const at = instantOf(row);
      return at !== undefined && at <= soon ? [{ path, occurrence, turn, at }] : [];
    }),
    branches: work
      .filter((row) => isNow(row, now))
      .map((row) => ({ ...row, groupSize: groupSizeOf(row) }))
      .map(({ path, occurrence, turn, dispatches, lease, groupSize }) => ({
        path,
        occurrence,
        turn,
        dispatches,
        isUnfinished: lease !== undefined,
        groupSize,
      })),
  };
}

/** Answers what a tick makes of the runs that it saw: the next instant to look at each, which it has armed. */
export function movesFor({ runs, now }: Listing): Move[] {
  return runs.map(({ runId, turn, dueAt, isReady, nextAt, timeoutAt, branches, dispatches }) => {
    const tries = Math.min(isReady ? dispatches : Infinity, ...branches.map((branch: Listed) => branch.dispatches));
    const backoff = isReady || branches.length > 0 ? now + Math.min(minute * 2 ** tries, longestBackoffMs) : undefined;
    const far = (at: number) => (at === timeoutAt ? dueForTimeout(at, now, punctual) : dueFor(at, now, punctual));
    const next = earliest(nextAt === null ? undefined : far(nextAt), backoff);
    return {
      runId,
      seenDueAt: dueAt,
      dueAt: next === undefined ? null : Math.max(next, motionMinute(now)),
      isDispatched: isReady,
      turn,
      branches: branches.map(({ path, occurrence, turn }) => ({ path, occurrence, turn })),
    };
  });
}

/**
 * Moves the runs whose due instant is still as it was seen. A run that was woken or claimed since may have to be
 * looked at before the new instant. It is left for the second call, which knows of an instant that is soon enough.
 */
export function move(
  world: World,
  namespace: string,
  moves: readonly Move[],
  { isSecond, by }: { readonly isSecond: boolean; readonly by: string | undefined },
): Moved {
  let moved = 0;
  let left = 0;
  for (const one of moves) {
    const run = findRun(world, one.runId, namespace);
    if (run === undefined || isOver(run) || run.pausedAt !== undefined || (run.dueAt ?? null) !== one.seenDueAt)
      continue;
    const isRefused = hasRefused(world, run, by);
    const isAtRest = run.status === "parked" && run.rows.every(({ lease }) => lease === undefined);
    if (isRefused && isAtRest && !hasTaker(world, run)) {
      run.isBlocked = true;
      run.dueAt = undefined;
      continue;
    }
    if (!isSecond && !run.isBlocked && isNeededBefore(run, one, world.now)) {
      left += 1;
      continue;
    }
    moved += 1;
    run.dueAt = one.dueAt ?? undefined; // the second call's is read from the table
    if (isRefused) continue; // it is another deployment's
    run.dispatches += Number(isTurnSent(run, one) && (run.isBlocked || isNow(run, world.now)));
    for (const place of one.branches) {
      const row = findRow(run, place);
      if (row?.turn === place.turn && isNow(row, world.now)) row.dispatches += 1;
    }
  }
  return { moved, left };
}

export interface Moved {
  readonly moved: number;
  readonly left: number;
}

/**
 * Tells whether something of the run must be looked at before its new instant. What is about to be dispatched need not
 * be.
 */
function isNeededBefore(run: Run, one: Move, now: number): boolean {
  const { dueAt, branches } = one;
  const need = (of: Row | Run, isSent: boolean) =>
    isSent && isNow(of, now) ? undefined : (of.lease?.until ?? of.readyAt);
  const rows = run.rows.filter(isAtWork);
  const needs = rows.map((row) =>
    need(
      row,
      branches.some((sent) => isSamePlace(sent, row) && sent.turn === row.turn),
    ),
  );
  const first = earliest(need(run, isTurnSent(run, one)), ...needs);
  return first !== undefined && first < (dueAt ?? Number.POSITIVE_INFINITY);
}

/** Tells whether the turn that is about to be dispatched is still the one of the run. */
function isTurnSent(run: Run, { turn, isDispatched }: Move): boolean {
  return isDispatched && turn === run.turn;
}

/** Tells whether a claim may succeed now. */
function isNow({ lease, readyAt }: Row | Run, now: number): boolean {
  return (lease?.until ?? readyAt ?? Number.POSITIVE_INFINITY) <= now;
}

export function renew(world: World, namespace: string, turn: RenewTurn): Answer {
  const { runId, path, occurrence, token, beginnings, begins, says } = turn;
  const run = findRun(world, runId, namespace);
  const row = path === undefined || occurrence === undefined ? run : run && findRow(run, { path, occurrence });
  if (row?.lease?.token !== token) {
    if (row !== undefined) spare(row, token);
    return { outcome: "superseded" };
  }
  row.lease.until = world.now + leaseMs;
  if (beginnings !== undefined) row.beginnings = beginnings;
  if (begins !== undefined) row.begun = begins;
  if (says !== undefined && run !== undefined) run.says = says;
  const cancel = "isShielded" in row && row.isShielded ? null : describeCancel(run);
  const timeoutAt = run?.pausedAt === undefined ? (run?.timeoutAt ?? null) : null;
  return { outcome: "renewed", leasedUntil: row.lease.until, cancel, timeoutAt };
}

function describeCancel(run: Run | undefined): { readonly reason: string | null } | null {
  if (run?.cancel !== undefined && run.cancelledPosition === undefined) return { reason: run.cancel.reason ?? null };
  return run?.isClosing === true ? { reason: "its handler has ended" } : null;
}

/**
 * Gives a lease back, since its process ends before the turn does. What was counted stays counted, and the turn may be
 * claimed at once.
 */
export function giveBack(world: World, namespace: string, turn: ReturnTurn): Answer {
  const { runId, path, occurrence, token } = turn;
  const run = findRun(world, runId, namespace);
  const row = path === undefined || occurrence === undefined ? undefined : run && findRow(run, { path, occurrence });
  const of = path === undefined ? run : row;
  if (run === undefined || of?.lease?.token !== token) return { outcome: "superseded" };
  arm(world, [world.now]); // by nobody: the process that is asked to look finds it, or the next tick that happens
  of.lease = undefined;
  if (row === undefined) {
    run.status = "parked";
    run.isInterrupted = true;
    run.readyAt = earliest(run.readyAt, world.now);
  }
  return { outcome: "returned" };
}

export function voidLeases(world: World, namespace: string): void {
  for (const run of world.runs) {
    if (run.namespace !== namespace) continue;
    for (const { lease } of [run, ...run.rows]) {
      if (lease === undefined) continue;
      excuse(world, lease.until);
      lease.until = Math.min(lease.until, world.now);
    }
  }
}

/** Deletes the runs that have been over for long enough. Answers how many. */
export function prune(world: World, namespace: string, keepMs: number, keepFailedMs: number): number {
  const before = world.runs.length;
  const longest = Math.max(keepMs, keepFailedMs);
  world.deletions = world.deletions.filter((one) => one.namespace !== namespace || one.at > world.now - longest);
  world.runs = world.runs.filter((run) => {
    if (run.namespace !== namespace || run.endedAt === undefined) return true;
    return run.endedAt > world.now - (run.status === "failed" ? keepFailedMs : keepMs);
  });
  return before - world.runs.length;
}
