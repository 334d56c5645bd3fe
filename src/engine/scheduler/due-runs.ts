/** What a tick makes of a run that was listed: what to dispatch, and when to look again. */
import { inGroupOf } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { lookFor, lookForTimeout } from "../../core/waking.ts";
import type { BranchRef, DueAnswer, DueRun, Move } from "../../postgres/wire.ts";
import { defaults } from "../options.ts";

/** A run in motion is due within this. */
export const longestMotionMs = 180_000;
export const longestBackoffMs = 6 * 3_600_000;

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
    ...(nextAt === null ? [] : [nextAt === timeoutAt ? lookForTimeout(nextAt, now) : lookFor(nextAt, now)]),
    ...(isDispatched ? [lookFor(now + backoffMs(isNew ? 0 : dispatches), now)] : []),
  ];
  const dueAt = instants.length === 0 ? null : Math.max(Math.min(...instants), earliest);
  const isSoon = !isDispatched && nextAt !== null && nextAt - now <= defaults.shortWaitMs && !isUnfinished;
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

/** A timer may fire a little early, and a claim that finds a lease still alive is refused. */
function delayFor(at: number, now: number): number {
  return at <= now ? 0 : at - now + 20;
}

/** What may be claimed soon, to be dispatched for then. A lease that is alive then is renewed, and the claim refused. */
export function comingOf({ runId, turn, isReady, ownAt, later }: DueRun, now: number): readonly Wish[] {
  const wishes = (later ?? []).map((branch) => ({
    ref: branchRef(runId, branch),
    delayMs: delayFor(branch.at, now),
  }));
  const isSoon = !isReady && ownAt != null && ownAt - now <= longestMotionMs;
  return isSoon ? [...wishes, { ref: { runId, turn }, delayMs: delayFor(ownAt, now) }] : wishes;
}

/** Only what was dispatched and never claimed is looked at less and less often. */
function backoffMs(dispatches: number): number {
  return Math.min(60_000 * 2 ** dispatches, longestBackoffMs);
}
