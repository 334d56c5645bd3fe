/** The rules for one run that a tick has listed: what to dispatch, and when to look again. They are pure. */
import { inGroupOf } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { backoffMs, delayUntil, dueFor, dueForTimeout, lookAheadMs, type Pace } from "../../core/waking.ts";
import type { BranchRef } from "../../postgres/wire.ts";
import type { DueAnswer, DueRun, Move } from "../../postgres/wire-scheduler.ts";

/** A turn to dispatch, and after how long. */
export interface DelayedTurn {
  readonly ref: TurnRef;
  readonly delayMs: number;
}

/** What is decided about one run: its new due instant, and what to dispatch of it. */
export interface Look {
  readonly move: Move;
  readonly turns: readonly DelayedTurn[];
}

interface LookTerms {
  readonly now: number;
  /** The earliest due instant for which a tick can still be armed. */
  readonly notBefore: number;
  /** Whether the dispatches of the run are counted from the beginning. */
  readonly countsAnew: boolean;
  /** What will be ready soon. Undefined: the tick does not look ahead. */
  readonly coming: readonly DelayedTurn[] | undefined;
  readonly pace: Pace;
}

/** Decides what to dispatch of a due run, and when to look again. */
export function look(run: DueRun, { now, notBefore, countsAnew, coming, pace }: LookTerms): Look {
  const { runId, turn, isReady, isUnfinished, nextAt, timeoutAt } = run;
  const branches = run.branches ?? [];
  const ready = readyOf(run);
  const isDispatched = ready.length > 0;
  const dispatches = Math.min(
    isReady ? run.dispatches : Number.POSITIVE_INFINITY,
    ...branches.map((branch) => branch.dispatches),
  );
  const dueInstants = [
    ...(nextAt === null ? [] : [nextAt === timeoutAt ? dueForTimeout(nextAt, now, pace) : dueFor(nextAt, now, pace)]),
    ...(isDispatched ? [dueFor(now + backoffMs(countsAnew ? 0 : dispatches, pace), now, pace)] : []),
  ];
  const dueAt = dueInstants.length === 0 ? null : Math.max(Math.min(...dueInstants), notBefore);
  const isSoon = !isDispatched && nextAt !== null && nextAt - now <= pace.shortWaitMs && !isUnfinished;
  const later = coming ?? (isSoon ? [{ ref: { runId, turn }, delayMs: nextAt - now }] : []);
  return {
    move: { runId, seenDueAt: run.dueAt, dueAt, isDispatched: isReady, turn, branches },
    turns: [...ready, ...later],
  };
}

/** Lists the turns that may be claimed now. */
export function readyOf({ runId, turn, isReady, groupSize, branches }: DueRun): readonly DelayedTurn[] {
  const refs = (branches ?? []).map((branch) => together(branch.groupSize, branchRef(runId, branch)));
  if (isReady) refs.push(together(groupSize, { runId, turn }));
  return refs.map((ref) => ({ ref, delayMs: 0 }));
}

function branchRef(runId: string, { path, occurrence, turn }: BranchRef): TurnRef {
  return { runId, turn, branch: { path, occurrence } };
}

function together(groupSize: number | null, ref: TurnRef): TurnRef {
  return groupSize === null ? ref : inGroupOf(groupSize, ref);
}

/**
 * Answers true if a run is not due yet, and was listed only because a part of it will be ready soon.
 *
 * @param readyUntil runs that are ready count as due if they are due by this instant
 */
export function isAhead(
  { dueAt, isReady, branches }: DueRun,
  { now, isNew: looksAtAll }: DueAnswer,
  readyUntil: number,
): boolean {
  if (dueAt === null || dueAt <= now) return false;
  return !((looksAtAll || dueAt <= readyUntil) && (isReady || branches !== null));
}

/**
 * Lists the turns that may be claimed soon, with the delay until then. If the lease of such a turn is renewed meanwhile,
 * its claim is refused.
 */
export function comingOf({ runId, turn, isReady, ownAt, later }: DueRun, now: number): readonly DelayedTurn[] {
  const turns = (later ?? []).map((branch) => ({
    ref: branchRef(runId, branch),
    delayMs: delayUntil(branch.at, now),
  }));
  const isSoon = !isReady && ownAt != null && ownAt - now <= lookAheadMs;
  return isSoon ? [...turns, { ref: { runId, turn }, delayMs: delayUntil(ownAt, now) }] : turns;
}
