/** Waits for the end of a run by asking for it, less and less often. */
import type { HostClock } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import { isOver, type RunStatus } from "./run-view.ts";

const shortestPauseMs = 50;
const longestPauseMs = 60_000;

export interface Waiting {
  /** Infinity: until the end. */
  readonly waitMs: number;
  readonly host: HostClock;
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * The run when it is over, or as it is after `waitMs`. Each pause is a quarter of the time that went by: whoever waits
 * learns of the end a quarter too late at most, and a minute costs 25 statements (a free Worker may make 50 requests).
 */
export async function untilOver<R extends { readonly status: RunStatus }>(
  read: () => Promise<R>,
  options: Waiting,
): Promise<R> {
  const { waitMs, host, abortSignal } = options;
  const began = host.monotonic();
  abortSignal?.throwIfAborted();
  for (;;) {
    const run = await read();
    const waitedMs = host.monotonic() - began;
    if (isOver(run.status) || waitedMs >= waitMs) return run;
    const pauseMs = Math.min(Math.max(waitedMs / 4, shortestPauseMs), longestPauseMs);
    await pause(host, Math.ceil(Math.min(pauseMs, waitMs - waitedMs)), abortSignal);
  }
}
