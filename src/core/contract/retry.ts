/**
 * When a failed step is tried again: exponential backoff with full jitter, which spreads the retries of
 * many runs best (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
 *
 * Pure: the random number is given.
 */

import { type Duration, toMilliseconds } from "../duration.ts";
import { LayoverError } from "../errors.ts";

export interface RetryPolicy {
  /** How often the step is tried in all, the first time included. Default 5; 1 means never again. */
  readonly maxAttempts?: number;
  /** The longest pause after the first failure. Default 1 s. */
  readonly delay?: Duration;
  /** The factor by which each pause is longer than the one before. 1 keeps the pause constant. Default: 2. */
  readonly backoff?: number;
  /** No pause is longer than this. Default 5 min. */
  readonly maxDelay?: Duration;
  /** Pause anywhere between nothing and the full pause, so that runs do not retry in step. Default true. */
  readonly jitter?: boolean;
}

/** A policy with nothing left open. */
export interface ResolvedRetry {
  readonly maxAttempts: number;
  readonly delayMs: number;
  readonly backoff: number;
  readonly maxDelayMs: number;
  readonly jitter: boolean;
}

const defaultRetry: ResolvedRetry = {
  maxAttempts: 5,
  delayMs: 1_000,
  backoff: 2,
  maxDelayMs: 300_000,
  jitter: true,
};

/** One attempt, and no other. */
export const once: ResolvedRetry = { maxAttempts: 1, delayMs: 0, backoff: 1, maxDelayMs: 0, jitter: false };

const mostAttempts = 10_000;
const options: readonly string[] = ["maxAttempts", "delay", "backoff", "maxDelay", "jitter"];

/** @throws LayoverError `invalid_retry`, `invalid_duration` */
export function resolveRetry(policy?: RetryPolicy): ResolvedRetry {
  if (policy === undefined) return defaultRetry;
  const unknown = Object.keys(policy).find((option) => !options.includes(option));
  if (unknown !== undefined) {
    throw new LayoverError("invalid_retry", `retry has no option ${JSON.stringify(unknown)}`, {
      hint: `Its options are ${options.map((known) => JSON.stringify(known)).join(", ")}.`,
      details: { field: `retry.${unknown}` },
    });
  }
  const { maxAttempts = defaultRetry.maxAttempts, backoff = defaultRetry.backoff, delay, maxDelay } = policy;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > mostAttempts) {
    throw invalidRetry("maxAttempts", maxAttempts, `a whole number from 1 to ${mostAttempts}`);
  }
  if (!Number.isFinite(backoff) || backoff < 1) {
    throw invalidRetry("backoff", backoff, "a number of at least 1");
  }
  return {
    maxAttempts,
    backoff,
    delayMs: delay === undefined ? defaultRetry.delayMs : toMilliseconds(delay, { field: "retry.delay" }),
    maxDelayMs:
      maxDelay === undefined ? defaultRetry.maxDelayMs : toMilliseconds(maxDelay, { field: "retry.maxDelay" }),
    jitter: policy.jitter ?? defaultRetry.jitter,
  };
}

function invalidRetry(option: string, value: unknown, wanted: string): LayoverError {
  const field = `retry.${option}`;
  return new LayoverError("invalid_retry", `${field}: ${String(value)} is not ${wanted}`, {
    hint: `Give ${field} as ${wanted}.`,
    details: { field },
  });
}

/**
 * How long to pause after the `failedAttempts`-th failure, in whole milliseconds.
 * `random` is in [0, 1).
 */
export function retryDelay(retry: ResolvedRetry, failedAttempts: number, random: number): number {
  const factor = Math.min(retry.backoff ** (failedAttempts - 1), Number.MAX_VALUE); // 0 × Infinity is NaN
  const longest = Math.min(retry.maxDelayMs, retry.delayMs * factor);
  return Math.round(retry.jitter ? random * longest : longest);
}
