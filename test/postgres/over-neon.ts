/**
 * The adapter for Neon over an endpoint under test, with its timer stopped, and two fates that a request of it may
 * have.
 */
import { vi } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { type NeonOptions, neon } from "../../src/postgres/neon.ts";
import { type Fate, type NeonEndpoint, refused } from "./neon-endpoint.ts";

export function over(
  { url, fetchEndpoint }: Pick<NeonEndpoint, "url" | "fetchEndpoint">,
  options: NeonOptions = {},
): Query {
  return neon(url, { fetchEndpoint, ...options });
}

/** Time passes for the adapter's timer only when a test says so. */
export const stopTime = () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

/** The request is carried out; then its client has waited for so long that it leaves. */
export function clientLeaves(afterMs: number): Fate {
  return async ({ carryOut }) => {
    await carryOut();
    vi.advanceTimersByTime(afterMs);
  };
}

/** What Neon says when a compute did not wake in time. */
export const noCompute = refused(500, `{"message":"Couldn't connect to compute node","code":null}`);
