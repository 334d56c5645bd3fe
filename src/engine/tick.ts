/**
 * One pass of the scheduler. It never claims: it lists what is due, arms the next instants, moves the due instants on,
 * and only then dispatches. So at every moment each run is armed.
 */
import { motionMinute } from "../core/motion.ts";
import type { TurnRef } from "../core/ports.ts";
import type { DueRun, Move } from "../postgres/wire.ts";
import type { Crew } from "./invocation.ts";
import { defaults } from "./options.ts";

export interface TickAnswer {
  readonly due: number;
  readonly dispatched: number;
}

const pageSize = 500;
/** A run in motion is due within this. */
const longestMotionMs = 180_000;
const longestBackoffMs = 6 * 3_600_000;

export interface TickOptions {
  /** The first tick of a deployment, which looks at all that is ready or blocked, whenever it is due. */
  readonly isNew?: boolean;
  /** ... and nobody else uses the database: short waits were dispatched by a process that is dead, so they are armed. */
  readonly isExclusive?: boolean;
}

export async function tick(
  { options, registry }: Crew,
  { isNew = false, isExclusive = false }: TickOptions = {},
): Promise<TickAnswer> {
  const { calls, dispatch, onError, keepMs = defaults.keepMs, keepFailedMs = defaults.keepFailedMs } = options;
  const { versions } = registry;
  let after: { dueAt: number | null; runId: string } | undefined;
  const takesOver = isNew && isExclusive;
  let due = 0;
  let dispatched = 0;
  for (;;) {
    const withinMs = takesOver ? longestMotionMs : 0;
    const page = await calls.listDue({
      versions,
      limit: pageSize,
      isNew,
      withinMs,
      ...(after !== undefined && { after }),
    });
    calls.alarms.forget(page.now + 60_000);
    if (page.nextDueAt !== null) await calls.alarms.arm([page.nextDueAt]);
    const soonAt = motionMinute(page.now);
    const looks = page.runs.map((run) => look(run, page.now, takesOver ? page.now : soonAt));
    if (looks.length > 0) {
      const moves = looks.map(({ move }) => move);
      await calls.alarms.arm(moves.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt])));
      const { left } = await calls.moveDue(moves);
      if (left > 0) {
        await calls.alarms.arm([soonAt]);
        await calls.moveDue(moves, soonAt);
      }
    }
    const { ready, alone, later } = sort(looks.flatMap(({ refs }) => refs));
    for (const [refs, delayMs] of [[ready, 0], ...alone.map((ref) => [[ref], 0] as const), ...later] as const) {
      if (refs.length === 0) continue;
      try {
        await dispatch(refs, delayMs);
        dispatched += refs.length;
      } catch (error) {
        onError?.(error, "dispatching"); // the alarm stands
      }
    }
    due += page.runs.length;
    const last = page.runs.at(-1);
    if (last === undefined || page.runs.length < pageSize) break;
    after = { dueAt: last.dueAt, runId: last.runId };
  }
  await calls.pruneRuns({ keepMs, keepFailedMs, limit: pageSize });
  return { due, dispatched };
}

interface Wish {
  readonly ref: TurnRef;
  readonly delayMs: number;
}
interface Look {
  readonly move: Move;
  readonly refs: readonly Wish[];
}

/** What to dispatch of a due run, and when to look again: not before `earliest`. */
function look(run: DueRun, now: number, earliest: number): Look {
  const { runId, turn, isReady, isUnfinished, nextAt } = run;
  const branches = run.branches ?? [];
  const refs: Wish[] = branches.map((branch) => ({
    ref: {
      runId,
      turn: branch.turn,
      branch: { path: branch.path, occurrence: branch.occurrence },
      alone: branch.isUnfinished,
    },
    delayMs: 0,
  }));
  if (isReady) refs.push({ ref: { runId, turn, alone: isUnfinished }, delayMs: 0 });
  const isDispatched = refs.length > 0;
  const dispatches = Math.min(
    isReady ? run.dispatches : Number.POSITIVE_INFINITY,
    ...branches.map((branch) => branch.dispatches),
  );
  const instants = [...(nextAt === null ? [] : [nextAt]), ...(isDispatched ? [now + backoffMs(dispatches)] : [])];
  const dueAt = instants.length === 0 ? null : Math.max(Math.min(...instants), earliest);
  if (!isDispatched && nextAt !== null && nextAt - now <= defaults.shortWaitMs && !isUnfinished) {
    refs.push({ ref: { runId, turn }, delayMs: nextAt - now });
  }
  return { move: { runId, seenDueAt: run.dueAt, dueAt, isDispatched: isReady, branches }, refs };
}

/** Only what was dispatched and never claimed is looked at less and less often. */
function backoffMs(dispatches: number): number {
  return Math.min(60_000 * 2 ** dispatches, longestBackoffMs);
}

function sort(wishes: readonly Wish[]): {
  ready: TurnRef[];
  alone: TurnRef[];
  later: (readonly [TurnRef[], number])[];
} {
  const now = wishes.filter(({ delayMs }) => delayMs === 0).map(({ ref }) => ref);
  return {
    ready: now.filter(({ alone }) => !alone),
    alone: now.filter(({ alone }) => alone),
    later: wishes.filter(({ delayMs }) => delayMs > 0).map(({ ref, delayMs }) => [[ref], delayMs] as const),
  };
}
