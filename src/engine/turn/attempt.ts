/** One attempt of a step: runs the body, and tells what is to be recorded. */
import { toErrorValue } from "../../core/codec/error-value.ts";
import { toStored, toStoredError } from "../../core/codec/stored-value.ts";
import { retryDelay } from "../../core/contract/retry.ts";
import { CancelledError, isNonRetryable, retryAfterOf, TimeoutError } from "../../core/contract/user-errors.ts";
import { isLayoverError, LayoverError } from "../../core/errors.ts";
import { type HostClock, QueryError, type TransactionClient, UnknownCommit } from "../../core/ports.ts";
import { type Demand, placeName, type StepBody } from "../../core/replay/demand.ts";
import { idempotencyKey } from "../../core/replay/seeded.ts";
import type { FinishAnswer, Place } from "../../postgres/wire.ts";
import type { Lease } from "../claim/lease.ts";
import type { Bodies } from "./bodies.ts";
import { BodyLimits, type RunEnd } from "./body-limits.ts";

export interface Attempt {
  readonly demand: Demand;
  readonly body: StepBody;
  /** Counted from 1. */
  readonly number: number;
  /** Whether it was begun before, and nobody knows how it ended. Then it fails without being run. */
  readonly isInterrupted: boolean;
  /** Whether too many processes died while they ran it. Then it fails without being run. */
  readonly isExhausted: boolean;
  /** The longest timeout that a step may have on this host. One with a longer one fails without being run. */
  readonly longestMs: number;
  /** The most bytes that its result may take, as stored text. */
  readonly mostBytes: number;
  /** The bodies at work in this process, and this one's place among them. No two of one place run at a time. */
  readonly bodies: Bodies;
  readonly place: string;
  readonly runEnd: RunEnd | undefined;
  readonly seed: (text: string) => Uint8Array;
  /** When it is lost, whatever the body does is not recorded. */
  readonly lease: Lease;
  readonly host: HostClock;
  /** The database's time. */
  readonly now: () => number;
  readonly random: () => number;
  /**
   * Writes down that the attempt begins, if its step runs at most once. Answers false if somebody else has the step. Throws
   * if nobody knows whether it is written down.
   */
  readonly writeBeginning: () => Promise<boolean>;
  /**
   * Carries out the work in a transaction, and commits it together with the record of its result. Undefined: the step is no
   * transaction, or the database has none.
   */
  readonly transact:
    | ((work: (client: TransactionClient) => Promise<string>, beganAt: number) => Promise<Committed>)
    | undefined;
  /** Is called when the attempt has ended, whatever came of it. */
  readonly onEnd: () => void;
}

/** What the database answered to the finish that was committed with a transaction. */
export type Committed = Extract<FinishAnswer, { readonly outcome: "finished" | "deferred" }>;

export type AttemptResult =
  | { readonly kind: "committed"; readonly answer: Committed; readonly beganAt: number; readonly endedAt: number }
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

/** @throws where the step must be left as it is, and nothing is recorded */
export async function attemptStep(attempt: Attempt): Promise<AttemptResult> {
  const { demand, now } = attempt;
  const beganAt = now();
  let isRunOver = false;
  let left: Error | undefined;
  const endRun = () => {
    isRunOver = true;
  };
  try {
    if (attempt.isInterrupted) throw interrupted(demand);
    if (attempt.isExhausted) throw exhausted(demand);
    if (attempt.body.timeoutMs > attempt.longestMs) throw exceedsHost(attempt);
    const earlier = attempt.bodies.find(attempt.place);
    if (earlier !== undefined) await waitForEarlier(earlier, attempt);
    if (attempt.body.isAtMostOnce) await begin(attempt, (error) => (left = error));
    const work = async (client?: TransactionClient) =>
      toStored(await runBody(attempt, endRun, client), {
        what: `the result of step "${placeName(demand)}"`,
        isSensitive: attempt.body.isSensitive,
        maxBytes: attempt.mostBytes,
      });
    if (attempt.transact !== undefined)
      return { kind: "committed", answer: await attempt.transact(work, beganAt), beganAt, endedAt: now() };
    const value = await work();
    return { kind: "succeeded", value, beganAt, endedAt: now() };
  } catch (thrown) {
    if (left !== undefined) throw left;
    if (attempt.transact !== undefined && isLeft(thrown)) throw thrown;
    const endedAt = now();
    return {
      kind: "failed",
      error: toStoredError(toErrorValue(thrown)),
      beganAt,
      endedAt,
      // The handler is to see the run's timeout or cancel, and not how that ended the step. So the step stays open.
      retryInMs: isRunOver ? 0 : retryIn(attempt, thrown, endedAt),
    };
  } finally {
    attempt.onEnd();
  }
}

/** Waits for an earlier attempt that still runs in this process, as long as one attempt may take. */
async function waitForEarlier(earlier: Promise<unknown>, { demand, body, lease, host }: Attempt): Promise<void> {
  let cancelTimer = () => {};
  const late = new Promise<never>((_, reject) => {
    const hint =
      "An earlier attempt still runs in this process, so this one was not begun. Let the body end when its abortSignal fires, or give the step a longer timeout.";
    cancelTimer = host.after(body.timeoutMs, () => reject(timedOut(demand, body, hint)));
  });
  try {
    await Promise.race([earlier, late]);
  } finally {
    cancelTimer();
  }
  if (lease.isLost) throw lostBefore(); // nobody records this error
}

/**
 * Writes down that the body begins. Whoever finds that, and no result, does not run the body again. If the database does
 * not say whether it is written down, the body must not begin, and nothing is recorded: when the lease is over, the next
 * claim knows. `leave` is told so.
 */
async function begin({ demand, writeBeginning }: Attempt, leave: (error: Error) => void): Promise<void> {
  let isOurs = false;
  try {
    isOurs = await writeBeginning();
  } catch (cause) {
    leave(new Error(`step "${placeName(demand)}" was not begun, since that could not be written down`, { cause }));
  }
  if (!isOurs) throw lostBefore(); // nobody records this error
}

function lostBefore(): Error {
  return new Error("the lease of this step was lost before it was begun");
}

/** Whether a transaction may have been committed, or somebody else has its step: nothing is recorded here. The next claim knows. */
function isLeft(thrown: unknown): boolean {
  return sqlStateOf(thrown) === "LO013" || sqlStateOf(thrown) === unknownCommit;
}

const unknownCommit = Symbol("UnknownCommit");

/** Reads the SQLSTATE of what was thrown. Undefined: it has none, or nobody can look at it. */
function sqlStateOf(thrown: unknown): unknown {
  try {
    if (thrown instanceof UnknownCommit) return unknownCommit;
    if (thrown instanceof QueryError) return thrown.sqlState;
    return thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  } catch {
    return undefined; // a revoked Proxy
  }
}

/**
 * What may keep a transaction from its commit, though nothing is wrong with it: others in its way (40001, 40P01, 55P03), or
 * alarms that were armed for another instant or process (LO002, LO011).
 */
const passing: readonly unknown[] = ["40001", "40P01", "55P03", "LO002", "LO011"];

async function runBody(attempt: Attempt, onRunEnd: () => void, client?: TransactionClient): Promise<unknown> {
  const { demand, body, number, bodies, place, runEnd, seed, lease, host, now } = attempt;
  let controller: AbortController | undefined;
  let aborted: Error | undefined;
  let limits: BodyLimits | undefined;
  let forgetLease = () => {};
  let forgetCancel = () => {};
  const abort = (reason: Error) => {
    aborted = reason;
    controller?.abort(reason);
  };
  const context = {
    attempt: number,
    get idempotencyKey() {
      return idempotencyKey(seed, demand);
    },
    get abortSignal() {
      if (controller === undefined) {
        const made = new AbortController();
        controller = made;
        if (aborted !== undefined) made.abort(aborted);
        else forgetLease = lease.whenLost(() => made.abort(new Error("the lease of this step is lost")));
      }
      return controller.signal;
    },
  };
  try {
    const result = body.body(context, client);
    if (!isThenable(result)) return result; // and there is nothing left that could take too long
    bodies.add(place, result);
    const timeout = new Promise<never>((_, reject) => {
      const end = (error: Error) => {
        reject(error);
        abort(error);
      };
      const made = new BodyLimits({
        ...{ timeoutMs: body.timeoutMs, runEnd, host, now },
        onTimeout: () => end(timedOut(demand, body, longerHint)),
        onRunEnd: (reason) => {
          onRunEnd();
          abort(reason);
        },
        onGraceOver: () => end(unknown(demand)),
      });
      limits = made;
      if (!demand.isShielded) forgetCancel = lease.whenCancelled((reason) => made.endSoon(new CancelledError(reason)));
    });
    return await Promise.race([result, timeout]);
  } finally {
    limits?.stop();
    forgetLease();
    forgetCancel();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject && "then" in value && typeof value.then === "function";
}

function retryIn({ body, number, random }: Attempt, thrown: unknown, endedAt: number): number | undefined {
  if (body.isTransaction && passing.includes(sqlStateOf(thrown))) return retryDelay(body.retry, number, random());
  if (number >= body.retry.maxAttempts || isNonRetryable(thrown) || isOurs(thrown)) return undefined;
  const wish = retryAfterOf(thrown);
  if (wish === undefined) return retryDelay(body.retry, number, random());
  return "at" in wish ? Math.max(0, wish.at.getTime() - endedAt) : wish.delayMs;
}

/** A result that cannot be stored, a step that kills its process: the next attempt would end alike. */
function isOurs(thrown: unknown): boolean {
  return (
    isLayoverError(thrown) &&
    [
      "unstorable_value",
      "too_deep",
      "value_too_large",
      "step_crashed",
      "nested_step",
      "transactions_unavailable",
      "exceeds_host",
    ].includes(thrown.code)
  );
}

export function interrupted(step: Place): LayoverError {
  const message = `step "${placeName(step)}" was begun, and its process never told how it ended`;
  return new LayoverError("interrupted", message, {
    hint: "It runs at most once, so it is not run again. Look up whether it had its effect.",
  });
}

function exhausted(demand: Demand): LayoverError {
  const message = `step "${placeName(demand)}" was begun again and again, and no process ever finished it`;
  return new LayoverError("step_crashed", message, {
    hint: "Look at the platform's logs for what ended its processes: memory, a time limit, an endless loop, no way to the database.",
  });
}

function exceedsHost({ demand, body, longestMs }: Attempt): LayoverError {
  const message = `step "${placeName(demand)}" may take ${body.timeoutMs / 1_000} s, and an invocation here has ${Math.floor(longestMs / 1_000)} s for a step`;
  return new LayoverError("exceeds_host", message, {
    hint: "Give the step a shorter timeout, or split it. The time limit of the function that carries out turns may be at most 15 minutes.",
    details: { timeoutMs: body.timeoutMs, longestMs },
  });
}

const longerHint =
  'A step has 60 s unless it is given more: step.run(name, body, { timeout: "5 minutes" }). Its body runs on unless it ends when its abortSignal fires.';

function timedOut(demand: Demand, { timeoutMs }: StepBody, hint: string): TimeoutError {
  return new TimeoutError({ kind: "step", wait: placeName(demand), timeoutMs, hint });
}

function unknown(demand: Demand): LayoverError {
  const message = `step "${placeName(demand)}" was begun and had not ended some time after the run's timeout or cancel: its result is unknown`;
  return new LayoverError("result_unknown", message, {
    hint: "Let the body end when its abortSignal fires, and look up whether it had its effect.",
  });
}
