/**
 * Looks again and again, and tells what is new. Each look is a statement or two that the database answers within its bounds.
 * While somebody follows, the database does not sleep: so it looks less often when nothing happens, and ends by itself.
 */
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { printAside } from "../screen.ts";
import { lasting } from "../times.ts";

export interface FollowTerms {
  /** How often it looks while there is news, in milliseconds. Without news each pause is half as long again, up to 15 s. */
  readonly everyMs: number;
  /** It ends after so long without news. */
  readonly quietMs: number;
}

/** A look has found news or none. `over`: nothing can come any more. */
export type Look = "news" | "none" | "over";

const longestPauseMs = 15_000;

/** Follows until it is over, has been quiet for long, or is told to stop. */
export async function follow(
  look: () => Promise<Look>,
  { everyMs, quietMs }: FollowTerms,
  { host = hostClock, abortSignal }: { readonly host?: HostClock; readonly abortSignal?: AbortSignal } = {},
): Promise<"over" | "quiet" | "stopped"> {
  let pauseMs = everyMs;
  let newsAt = host.monotonic();
  for (;;) {
    const found = await look();
    if (found === "over") return "over";
    if (found === "news") newsAt = host.monotonic();
    const leftMs = newsAt + quietMs - host.monotonic();
    if (leftMs <= 0) return "quiet";
    pauseMs = found === "news" ? everyMs : Math.min(pauseMs * 1.5, Math.max(longestPauseMs, everyMs));
    const restMs = Math.min(pauseMs, leftMs);
    const isStopped = await pause(host, restMs, abortSignal).then(
      () => false,
      () => true,
    );
    if (isStopped) return "stopped";
  }
}

/** The same in a terminal: says what it costs, and ends by Ctrl-C. */
export async function followUntilInterrupt(look: () => Promise<Look>, terms: FollowTerms): Promise<void> {
  printAside(
    `It looks every ${lasting(terms.everyMs)} to ${lasting(Math.max(terms.everyMs, longestPauseMs))}, so the database does not sleep meanwhile. It ends after ${lasting(terms.quietMs)} without news, or by Ctrl-C.`,
  );
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once("SIGINT", onInterrupt);
  try {
    const end = await follow(look, terms, { abortSignal: stop.signal });
    if (end === "quiet") printAside("Nothing new came for that long.");
    if (end === "stopped") process.exitCode = 130; // as a program that SIGINT ends
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}
