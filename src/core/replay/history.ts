/**
 * A record as the handler gets it: how each kind settles the demand that it belongs to.
 */

import { type ErrorValue, toErrorValue } from "../codec/error-value.ts";
import { fromStored } from "../codec/stored-value.ts";
import { CallbackRejectedError, ChildFailedError, StepError, TimeoutError } from "../contract/user-errors.ts";
import { type Demand, isWait, placeName } from "./demand.ts";

export type RecordKind =
  | "step"
  | "sleep"
  | "signal"
  | "callback"
  | "cancellation"
  | "close"
  | "closing"
  | "ending"
  | "start"
  | "child";

/** One entry of the history. What is recorded never changes. */
export interface HistoryRecord {
  readonly kind: RecordKind;
  readonly path: string;
  readonly occurrence: number;
  /** The value is an error. */
  readonly isFailure: boolean;
  /** The codec's text; null: a sleep that ended, a wait that timed out. */
  readonly value: string | null;
  /** Epoch milliseconds, never before the record ahead. */
  readonly recordedAt: number;
  /**
   * How many attempts a step took. 2 where the record tells that the run closes: a turn was begun and not finished, so the
   * one step that it was to carry out may have begun.
   */
  readonly attempts: number;
}

/**
 * Settles `demand` as `record` at this position says: the same in the first pass and in every replay. Answers the error by
 * which it was rejected. Without a demand, as that of a race's loser, it only reads the value, since an undo may need it.
 *
 * @throws LayoverError `undecodable_value`
 */
export function settle(demand: Demand | undefined, record: HistoryRecord, position: number): Error | undefined {
  const value = record.value === null ? undefined : fromStored(record.value, `the record of ${placeName(record)}`);
  if (demand === undefined) return undefined;
  const error =
    record.value === null
      ? timeoutOf(demand)
      : record.isFailure
        ? failureOf(demand, toErrorValue(value), { ...record, position })
        : undefined;
  if (error === undefined) demand.resolve(record.value === null ? emptyOf(demand) : value);
  else demand.reject(error);
  return error;
}

/** What a wait gives that timed out, and does not throw then. A sleep gives nothing. */
function emptyOf({ wanted }: Demand): null | undefined {
  return isWait(wanted) ? null : undefined;
}

function timeoutOf({ wanted }: Demand): TimeoutError | undefined {
  if (wanted.kind === "child")
    return new TimeoutError({ kind: "invoke", wait: wanted.name, timeoutMs: wanted.timeoutMs ?? 0 });
  if (!isWait(wanted) || wanted.onTimeout === "null") return undefined;
  return new TimeoutError({ kind: wanted.kind, wait: wanted.name, timeoutMs: wanted.timeoutMs ?? 0 });
}

/** Tells whether this record settles this demand. A run that could not be started has a record of its own kind. */
export function isOf({ wanted }: Demand, { kind, isFailure }: HistoryRecord): boolean {
  return wanted.kind === kind || (wanted.kind === "child" && kind === "start" && isFailure);
}

function failureOf(
  demand: Demand,
  cause: ErrorValue,
  { kind, attempts, position }: HistoryRecord & { readonly position: number },
): Error {
  if (kind === "child" && demand.wanted.kind === "child")
    return new ChildFailedError({ step: placeName(demand), runId: demand.wanted.runId(position), cause });
  switch (demand.wanted.kind) {
    case "callback":
      return new CallbackRejectedError({ callback: demand.wanted.name, cause });
    case "signal": // only one that was sent from SQL, so that no schema has checked it, and whose payload its schema refuses
      return Object.assign(new Error(cause.message), { name: cause.name, code: cause.code });
    default:
      return new StepError({ step: placeName(demand), attempts, cause });
  }
}
