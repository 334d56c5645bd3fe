/** Which step a run's turn carries out itself, without a row of its own. */
import { attemptName, type Demand, placeName } from "../../core/replay/demand.ts";
import type { ClaimedRun } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";

/** The one pending step, if it is a step and nothing else is pending: neither here nor by a loser still at work. */
export function inlineStep(loaded: LoadedRun, { pending }: ClaimedRun): Demand | undefined {
  const sole = loaded.execution.soleDemand;
  if (sole?.wanted.kind !== "step" || loaded.hasRow(placeName(sole))) return undefined;
  return pending?.some(({ isReleased }) => isReleased) || hasBranches(loaded) ? undefined : sole;
}

/** A race decided in this very turn may have left losers at work. */
function hasBranches(loaded: LoadedRun): boolean {
  return [...loaded.execution.races.losers.keys()].some((place) => loaded.hasRow(place));
}

/**
 * Whether all that has led to the step is to be recorded before it begins. If its process dies then, and the run is
 * cancelled, the replay has to ask for the step again: it may have begun, so its undo is owed. A transaction is committed with
 * its own record alone.
 */
export function isAfterRecords({ wanted }: Demand): boolean {
  return wanted.kind === "step" && (wanted.undo !== undefined || wanted.isTransaction === true);
}

/**
 * The step of which an earlier claim has begun this very attempt, and nobody knows how it ended. It fails, also where the
 * code asks for something beside it now.
 */
export function begunStep(loaded: LoadedRun, { begun }: ClaimedRun): Demand | undefined {
  if (begun == null) return undefined;
  return loaded.execution.pending.find((demand) => {
    const { wanted } = demand;
    const number = loaded.failedAttemptsOf(placeName(demand)) + 1;
    return wanted.kind === "step" && wanted.isAtMostOnce === true && attemptName(demand, number) === begun;
  });
}
