/**
 * Deletes runs that have been over for long enough, so that a busy table does not grow without end. Each statement
 * deletes one slice, so that none takes long.
 */

import type { HostClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";

export interface PruneOptions {
  readonly calls: Calls;
  readonly host: HostClock;
  readonly keepMs: number;
  readonly keepFailedMs: number;
}

/** How many runs one statement deletes: some 0.2 s on two cores. */
const slice = 500;

/** How long one tick goes on deleting. */
const budgetMs = 5_000;

/** Deletes what is to go. Answers true if nothing is left to delete, false if the time was up. */
export async function prune({ calls, host, keepMs, keepFailedMs }: PruneOptions): Promise<boolean> {
  const until = host.monotonic() + budgetMs;
  for (;;) {
    const { pruned } = await calls.pruneRuns({ keepMs, keepFailedMs, limit: slice });
    if (pruned < slice) return true;
    if (host.monotonic() >= until) return false;
  }
}
