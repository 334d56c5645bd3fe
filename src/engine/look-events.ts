/** What a tick sees of runs that nobody carries out. */
import { placeName } from "../core/demand.ts";
import type { DueRun } from "../postgres/wire.ts";
import type { LayoverEvent } from "./events.ts";

/** A run is reported as unclaimed from this many dispatches on: they take some minutes. */
const unclaimedDispatches = 3;

/** `now`: the database's time. Only the first look at a turn that was abandoned tells of its lease. */
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
