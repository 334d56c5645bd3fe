/**
 * Deletes runs that have been over for long enough, so that a busy table does not grow without end. Each statement
 * deletes one slice, so that none takes long.
 */

import type { HostClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { PruneCall } from "../../postgres/wire-scheduler.ts";

export interface PruneOptions extends Omit<PruneCall, "limit"> {
  readonly calls: Calls;
  readonly host: HostClock;
}

/** How many runs one statement deletes: some 0.2 s on two cores. */
const slice = 500;

/** How long one tick goes on deleting. */
const budgetMs = 5_000;

/** Deletes what is to go. Answers true if nothing is left to delete, false if the time was up. */
export async function prune({ calls, host, ...keep }: PruneOptions): Promise<boolean> {
  const until = host.monotonic() + budgetMs;
  for (;;) {
    const { isMore } = await calls.pruneRuns({ ...keep, limit: slice });
    if (!isMore) return true;
    if (host.monotonic() >= until) return false;
  }
}
