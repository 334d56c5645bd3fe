/**
 * A record as the handler gets it: how each kind settles the demand that it belongs to.
 */

import { type ErrorValue, toErrorValue } from "../codec/error-value.ts";
import { fromStored } from "../codec/stored-value.ts";
import { CallbackRejectedError, StepError, TimeoutError } from "../contract/user-errors.ts";
import { type Demand, placeName } from "./demand.ts";

export type RecordKind = "step" | "sleep" | "signal" | "callback" | "cancellation" | "close" | "closing" | "ending";

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

/** Settles `demand` as `record` says: the same in the first pass and in every replay. */
export function settle(demand: Demand, record: HistoryRecord): void {
  if (record.value === null) {
    settleEmpty(demand);
    return;
  }
  const value = fromStored(record.value, `the record of ${placeName(demand)}`);
  if (record.isFailure) demand.reject(failureOf(demand, toErrorValue(value), record.attempts));
  else demand.resolve(value);
}

/** A sleep that ended, a wait that timed out. */
function settleEmpty({ wanted, resolve, reject }: Demand): void {
  if (wanted.kind === "sleep" || wanted.kind === "step" || wanted.kind === "close") resolve(undefined);
  else if (wanted.onTimeout === "null") resolve(null);
  else reject(new TimeoutError({ kind: wanted.kind, wait: wanted.name, timeoutMs: wanted.timeoutMs ?? 0 }));
}

function failureOf(demand: Demand, cause: ErrorValue, attempts: number): Error {
  switch (demand.wanted.kind) {
    case "callback":
      return new CallbackRejectedError({ callback: demand.wanted.name, cause });
    case "signal": // only one that was sent from SQL, so that no schema has checked it, and whose payload its schema refuses
      return Object.assign(new Error(cause.message), { name: cause.name, code: cause.code });
    default:
      return new StepError({ step: placeName(demand), attempts, cause });
  }
}
