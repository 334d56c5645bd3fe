/** What a tick makes of a run that was listed: what to dispatch, and when to look again. */
import { inGroupOf } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { backoffMs, delayUntil, dueFor, dueForTimeout, lookAheadMs, shortWaitMs } from "../../core/waking.ts";
import type { BranchRef, DueAnswer, DueRun, Move } from "../../postgres/wire.ts";

/** A turn to dispatch after so long. */
export interface Wish {
  readonly ref: TurnRef;
  readonly delayMs: number;
}
/** What one listed run comes to. */
export interface Look {
  readonly move: Move;
  readonly refs: readonly Wish[];
}

interface Terms {
  readonly now: number;
  readonly earliest: number;
  readonly isNew: boolean;
  /** What will be ready soon, where a tick looks ahead: its own due instant may be much later. */
  readonly coming: readonly Wish[] | undefined;
}

/** What to dispatch of a due run, and when to look again: not before `earliest`. */
export function look(run: DueRun, { now, earliest, isNew, coming }: Terms): Look {
  const { runId, turn, isReady, isUnfinished, nextAt, timeoutAt } = run;
  const branches = run.branches ?? [];
  const ready = readyOf(run);
  const isDispatched = ready.length > 0;
  const dispatches = Math.min(
    isReady ? run.dispatches : Number.POSITIVE_INFINITY,
    ...branches.map((branch) => branch.dispatches),
  );
  const instants = [
    ...(nextAt === null ? [] : [nextAt === timeoutAt ? dueForTimeout(nextAt, now) : dueFor(nextAt, now)]),
    ...(isDispatched ? [dueFor(now + backoffMs(isNew ? 0 : dispatches), now)] : []),
  ];
  const dueAt = instants.length === 0 ? null : Math.max(Math.min(...instants), earliest);
  const isSoon = !isDispatched && nextAt !== null && nextAt - now <= shortWaitMs && !isUnfinished;
  const later = coming ?? (isSoon ? [{ ref: { runId, turn }, delayMs: nextAt - now }] : []);
  return { move: { runId, seenDueAt: run.dueAt, dueAt, isDispatched: isReady, branches }, refs: [...ready, ...later] };
}

/** What may be claimed now. */
export function readyOf({ runId, turn, isReady, groupSize, branches }: DueRun): readonly Wish[] {
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

/** Whether a run is not due yet, and was listed only for what will be ready soon. */
export function isAhead({ dueAt, isReady, branches }: DueRun, { now, isNew }: DueAnswer): boolean {
  if (dueAt === null || dueAt <= now) return false;
  return !isNew || !(isReady || branches !== null);
}

/** What may be claimed soon, to be dispatched for then. A lease that is alive then is renewed, and the claim refused. */
export function comingOf({ runId, turn, isReady, ownAt, later }: DueRun, now: number): readonly Wish[] {
  const wishes = (later ?? []).map((branch) => ({
    ref: branchRef(runId, branch),
    delayMs: delayUntil(branch.at, now),
  }));
  const isSoon = !isReady && ownAt != null && ownAt - now <= lookAheadMs;
  return isSoon ? [...wishes, { ref: { runId, turn }, delayMs: delayUntil(ownAt, now) }] : wishes;
}
