/** The events of runs that a tick finds without a holder: their process died, or nobody claims them. */
import { placeName } from "../../core/replay/demand.ts";
import { unclaimedDispatches } from "../../core/waking.ts";
import type { DueRun } from "../../postgres/wire-scheduler.ts";
import type { LayoverEvent } from "../events.ts";

/**
 * Makes the events of a run that is due. The loss of a lease is told by the first look alone.
 *
 * @param now the database's time
 */
export function lookEvents(run: DueRun, now: number): readonly LayoverEvent[] {
  const { runId } = run;
  const at = new Date(now);
  const events: LayoverEvent[] = [];
  const look = (
    { isUnfinished, dispatches }: { readonly isUnfinished: boolean; readonly dispatches: number },
    step?: string,
  ) => {
    if (isUnfinished && dispatches === 0) events.push({ kind: "lease_lost", runId, step, at });
    if (dispatches >= unclaimedDispatches) events.push({ kind: "run_unclaimed", runId, step, dispatches, at });
  };
  if (run.isReady) look(run);
  for (const branch of run.branches ?? []) look(branch, placeName(branch));
  return events;
}
