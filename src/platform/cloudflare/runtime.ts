/** What a Worker takes from the runtime that it runs in. A test plays another runtime. */
import type { WallClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import type { EngineOptions } from "../../engine/options.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { type Script, thisScript } from "./alarm/script.ts";

export interface Runtime {
  readonly host: WallClock;
  /** The script that runs: its Worker, and its Durable Objects. */
  readonly script: Script;
  /** Sends requests to other deployments. Default: `fetch`. */
  readonly send?: typeof fetch | undefined;
  readonly engine: Pick<EngineOptions, "atRest" | "claimBytes" | "newToken" | "random" | "warmRuns">;
}

/**
 * The most bytes that one claim answers, roughly. All requests of an isolate share 128 MB, and for a moment an answer is
 * in memory twice: as text and parsed.
 */
const claimBytes = 8 * 1024 * 1024;

/** Cloudflare's own runtime. */
export const workerd: Runtime = {
  host: hostClock,
  script: thisScript,
  engine: { claimBytes, warmRuns: 0, atRest },
};

/**
 * Resolves after the microtasks. workerd has no `setImmediate` without nodejs_compat, and hands on a MessageChannel's
 * messages between two microtasks. A timer of 0 ms comes after all of them, within some µs.
 */
function atRest(): Promise<void> {
  return pause(hostClock, 0);
}
