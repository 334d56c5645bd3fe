/**
 * The errors that a workflow's author throws or catches.
 *
 * They are told by their name or by a registered symbol, never by `instanceof`: two copies of this package,
 * or a test runner's realm, have classes of their own.
 */

import type { ErrorValue } from "../codec/error-value.ts";
import { type Duration, formatDuration, toMilliseconds } from "../duration.ts";
import { LayoverError } from "../errors.ts";

const nonRetryable = Symbol.for("layover.nonRetryable");
const retryAfter = Symbol.for("layover.retryAfter");

/**
 * Throw it when trying again is of no use. In a step it ends the step, elsewhere the run. A subclass may
 * have a name of its own.
 *
 * @example throw new NonRetryableError("the card is expired", { data: { card: card.id } });
 */
export class NonRetryableError extends Error {
  override readonly name: string = "NonRetryableError";
  /** Kept with the error, if it can be stored. */
  declare readonly data?: unknown;

  constructor(message: string, options: { cause?: unknown; data?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.data !== undefined) this.data = options.data;
    mark(this, nonRetryable);
  }
}

/**
 * Throw it in a step to say when the next attempt may be made, whatever the retry policy says.
 *
 * @example throw new RetryAfterError("rate limited", Number(response.headers.get("retry-after")) * 1000);
 */
export class RetryAfterError extends Error {
  override readonly name: string = "RetryAfterError";
  readonly after: Duration | Date;

  /** @throws LayoverError `invalid_duration` */
  constructor(message: string, after: Duration | Date, options: { cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.after = after;
    timeOf(after);
    mark(this, retryAfter);
  }
}

/**
 * A step failed for good. Look at `cause.name` to tell why.
 *
 * @example if (error instanceof StepError && error.cause.name === "CardDeclined") return await askForAnotherCard(step);
 */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly step: string;
  readonly attempts: number;
  declare readonly cause: ErrorValue;

  constructor(options: { step: string; attempts: number; cause: ErrorValue }) {
    const { step, attempts, cause } = options;
    const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    super(`step ${JSON.stringify(step)} failed after ${tries}: ${cause.name}: ${cause.message}`, { cause });
    this.step = step;
    this.attempts = attempts;
  }
}

/** What can time out, and how the sentence about it goes. */
const timeoutSentences = {
  signal: (name: string) => `the signal ${name} did not arrive`,
  callback: (name: string) => `the callback ${name} was not answered`,
  invoke: (name: string) => `the invoked run ${name} was not over`,
  step: (name: string) => `the step ${name} did not end`,
  run: (name: string) => `the run of ${name} was not over`,
};

export type TimeoutKind = keyof typeof timeoutSentences;

/**
 * A wait, a step or the run took longer than its `timeout`.
 *
 * @example if (error instanceof TimeoutError && error.wait === "approval") return { approved: false };
 */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
  readonly kind: TimeoutKind;
  /** The name of what was waited for. */
  readonly wait: string;
  readonly timeoutMs: number;
  /** What to do about it. */
  declare readonly hint?: string;

  constructor(options: { kind: TimeoutKind; wait: string; timeoutMs: number; hint?: string }) {
    const { kind, wait, timeoutMs, hint } = options;
    super(`${timeoutSentences[kind](JSON.stringify(wait))} within ${formatDuration(timeoutMs)}`);
    this.kind = kind;
    this.wait = wait;
    this.timeoutMs = timeoutMs;
    if (hint !== undefined) this.hint = hint;
  }
}

/**
 * The run is being cancelled, has reached its timeout, or its history is full. Thrown where the handler waits, so that
 * `finally` and `catch` can clean up. `step.cleanup` alone does that: all else that the handler asks for is refused with the
 * same error. Steps with `compensate` are undone after that. (Where an earlier release has written the timeout into the
 * history, steps and sleeps still go on anywhere.)
 *
 * @example if (error instanceof CancelledError) log.info("cancelled", { reason: error.reason });
 */
export class CancelledError extends Error {
  override readonly name = "CancelledError";
  readonly reason: string | undefined;

  constructor(reason?: string) {
    super(reason === undefined ? "the run was cancelled" : `the run was cancelled: ${reason}`);
    this.reason = reason;
  }
}

/**
 * The outside system rejected the callback. `cause` is what it gave as the reason.
 *
 * @example if (error instanceof CallbackRejectedError) return { approved: false, why: error.cause.message };
 */
export class CallbackRejectedError extends Error {
  override readonly name = "CallbackRejectedError";
  readonly callback: string;
  declare readonly cause: ErrorValue;

  constructor(options: { callback: string; cause: ErrorValue }) {
    const { callback, cause } = options;
    super(`the callback ${JSON.stringify(callback)} was rejected: ${cause.message}`, { cause });
    this.callback = callback;
  }
}

/**
 * A run that this one has invoked failed or was cancelled. `cause` is the error with which it ended.
 *
 * @example if (error instanceof ChildFailedError) log.warn("no invoice", { run: error.runId, why: error.cause.message });
 */
export class ChildFailedError extends Error {
  override readonly name = "ChildFailedError";
  /** The place at which it was invoked. */
  readonly step: string;
  /** Our id of the run that failed. */
  readonly runId: string;
  declare readonly cause: ErrorValue;

  constructor(options: { step: string; runId: string; cause: ErrorValue }) {
    const { step, runId, cause } = options;
    super(`the run ${runId}, invoked as ${JSON.stringify(step)}, failed: ${cause.name}: ${cause.message}`, { cause });
    this.step = step;
    this.runId = runId;
  }
}

export function isNonRetryable(thrown: unknown): boolean {
  return isMarked(thrown, nonRetryable, "NonRetryableError");
}

export type RetryTime = { readonly delayMs: number } | { readonly at: Date };

/** When a RetryAfterError wants the next attempt; undefined for anything else. */
export function retryAfterOf(thrown: unknown): RetryTime | undefined {
  if (!isMarked(thrown, retryAfter, "RetryAfterError")) return undefined;
  try {
    return timeOf(Reflect.get(Object(thrown), "after"));
  } catch {
    return undefined; // somebody else's error of that name
  }
}

function timeOf(after: unknown): RetryTime {
  if (Object.prototype.toString.call(after) !== "[object Date]") {
    const duration = typeof after === "number" || typeof after === "string" ? after : Number.NaN;
    return { delayMs: toMilliseconds(duration, { field: "after" }) };
  }
  const at = new Date(Number(after));
  if (!Number.isNaN(at.getTime())) return { at };
  throw new LayoverError("invalid_duration", "after: the date is invalid", {
    hint: "Give a Date that can be read, or a duration.",
    details: { field: "after" },
  });
}

/** Marks an error. A member `[symbol]` of the class would not do: bundlers keep such a class even if nobody uses it. */
function mark(error: Error, symbol: symbol): void {
  Object.defineProperty(error, symbol, { value: true });
}

function isMarked(thrown: unknown, mark: symbol, name: string): boolean {
  try {
    return (
      typeof thrown === "object" &&
      thrown !== null &&
      (Reflect.get(thrown, mark) === true || Reflect.get(thrown, "name") === name)
    );
  } catch {
    return false; // a proxy
  }
}
