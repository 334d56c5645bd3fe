/**
 * Deletes runs that have been over for long enough, a slice at a time, so that no statement is long. A busy table would
 * otherwise grow without end: one slice a minute is eight runs a second.
 */
import type { Calls } from "../postgres/calls.ts";
import type { HostClock } from "../postgres/clock.ts";

export interface PruneOptions {
  readonly calls: Calls;
  readonly host: HostClock;
  readonly keepMs: number;
  readonly keepFailedMs: number;
}

/** How many runs one statement deletes: some 0.2 s on two cores. */
const slice = 500;

/** How long one tick goes on with it. */
const budgetMs = 5_000;

/** Answers whether nothing is left to delete. False: the time was up. */
export async function prune({ calls, host, keepMs, keepFailedMs }: PruneOptions): Promise<boolean> {
  const until = host.monotonic() + budgetMs;
  for (;;) {
    const { pruned } = await calls.pruneRuns({ keepMs, keepFailedMs, limit: slice });
    if (pruned < slice) return true;
    if (host.monotonic() >= until) return false;
  }
}
