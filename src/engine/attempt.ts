/** One attempt of a step: runs the body, and tells what is to be recorded. */
import { encode } from "../core/codec.ts";
import { type Demand, placeName, type StepBody } from "../core/demand.ts";
import { type ErrorValue, toErrorValue } from "../core/error-value.ts";
import { isLayoverError, LayoverError } from "../core/errors.ts";
import { retryDelay } from "../core/retry.ts";
import { toUuid } from "../core/seeded.ts";
import { isNonRetryable, retryAfterOf, TimeoutError } from "../core/user-errors.ts";
import type { HostClock } from "../postgres/clock.ts";
import type { Lease } from "./leases.ts";

export interface Attempt {
  readonly demand: Demand;
  readonly body: StepBody;
  /** Counted from 1. */
  readonly number: number;
  /** Invocations died over it too often: it is to fail unexecuted. */
  readonly isExhausted: boolean;
  readonly seed: (text: string) => Uint8Array;
  /** When it is lost, whatever the body does is not recorded. */
  readonly lease: Lease;
  readonly host: HostClock;
  /** The database's time. */
  readonly now: () => number;
  readonly random: () => number;
}

export type AttemptResult =
  | { readonly kind: "succeeded"; readonly value: string; readonly beganAt: number; readonly endedAt: number }
  | {
      readonly kind: "failed";
      /** The codec's text of the ErrorValue. */
      readonly error: string;
      readonly beganAt: number;
      readonly endedAt: number;
      /** Undefined: that was the last attempt. */
      readonly retryInMs: number | undefined;
    };

export async function attemptStep(attempt: Attempt): Promise<AttemptResult> {
  const { demand, now } = attempt;
  const beganAt = now();
  try {
    if (attempt.isExhausted) throw exhausted(demand);
    const result = await runBody(attempt);
    const value = encode(result, { what: `the result of step "${placeName(demand)}"` });
    return { kind: "succeeded", value, beganAt, endedAt: now() };
  } catch (thrown) {
    const endedAt = now();
    return {
      kind: "failed",
      error: encodeError(toErrorValue(thrown)),
      beganAt,
      endedAt,
      retryInMs: retryIn(attempt, thrown, endedAt),
    };
  }
}

export function encodeError(error: ErrorValue): string {
  return encode(error, { what: "the error" });
}

async function runBody({ demand, body, number, seed, lease, host }: Attempt): Promise<unknown> {
  let controller: AbortController | undefined;
  let cancelTimer = () => {};
  let forgetLease = () => {};
  const context = {
    attempt: number,
    get idempotencyKey() {
      return toUuid(seed(`idempotency/${demand.path}#${demand.occurrence}`));
    },
    get abortSignal() {
      if (controller === undefined) {
        const made = new AbortController();
        forgetLease = lease.whenLost(() => made.abort(new Error("the lease of this step is lost")));
        controller = made;
      }
      return controller.signal;
    },
  };
  try {
    const result = body.body(context);
    if (!isThenable(result)) return result; // and there is nothing left that could take too long
    const timeout = new Promise<never>((_, reject) => {
      cancelTimer = host.after(body.timeoutMs, () => {
        const error = new TimeoutError({ kind: "step", wait: placeName(demand), timeoutMs: body.timeoutMs });
        reject(error);
        controller?.abort(error);
      });
    });
    return await Promise.race([result, timeout]);
  } finally {
    cancelTimer();
    forgetLease();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject && "then" in value && typeof value.then === "function";
}

function retryIn({ body, number, random }: Attempt, thrown: unknown, endedAt: number): number | undefined {
  if (number >= body.retry.maxAttempts || isNonRetryable(thrown) || isOurs(thrown)) return undefined;
  const wish = retryAfterOf(thrown);
  if (wish === undefined) return retryDelay(body.retry, number, random());
  return "at" in wish ? Math.max(0, wish.at.getTime() - endedAt) : wish.delayMs;
}

/** A result that cannot be stored, a step that kills its process: the next attempt would end alike. */
function isOurs(thrown: unknown): boolean {
  return (
    isLayoverError(thrown) &&
    ["unstorable_value", "too_deep", "value_too_large", "step_crashed", "nested_step"].includes(thrown.code)
  );
}

function exhausted(demand: Demand): LayoverError {
  const message = `step "${placeName(demand)}" was begun again and again, and no process ever finished it`;
  return new LayoverError("step_crashed", message, {
    hint: "Look at the platform's logs for what ended its processes: memory, a time limit, an endless loop, no way to the database.",
  });
}
