/**
 * Brings due instants nearer that are too far ahead: of runs whose dispatch the platform has refused, and of runs that
 * were dispatched in vain several times before somebody could claim them.
 */
import { motionMinute } from "../../core/waking.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { Move } from "../../postgres/wire-scheduler.ts";

/**
 * Makes runs due again, as soon as a tick can be armed. `moves` is what a tick has done with them. Nobody has tried these
 * runs, so their dispatches are counted from the beginning (`isNew`), also of a run that is due soon anyway. So the
 * platform is asked again within two minutes, however long it refuses. Only a turn that the platform took and nobody
 * claimed is looked at less and less often.
 */
export async function makeDueAgain(calls: Calls, moves: readonly Move[]): Promise<void> {
  const due = moves.flatMap((move) => (move.dueAt === null ? [] : { ...move, dueAt: move.dueAt }));
  if (due.length === 0) return;
  const now = calls.clock.now();
  const soonAt = calls.alarms.isBeat ? now : motionMinute(now);
  await calls.alarms.arm([soonAt]);
  // Arming may take long. Each run is still due at the armed instant to which the tick has moved it. It must not be moved
  // to an instant that has passed, since no tick comes for that one.
  if (!calls.alarms.isBeat && motionMinute(calls.clock.now()) !== soonAt) return;
  const again = due.map((move) => ({ ...move, seenDueAt: move.dueAt, dueAt: Math.min(move.dueAt, soonAt) }));
  await calls.moveDue({ moves: again, isNew: true, soonAt });
}
