/** How a run ends: by what its handler returned or threw, by its own time, or by growing too long. */

import { toErrorValue } from "../../core/codec/error-value.ts";
import { fromStored, toStored, toStoredError } from "../../core/codec/stored-value.ts";
import { parse } from "../../core/contract/schema.ts";
import { isSensitive } from "../../core/contract/sensitive.ts";
import { CancelledError } from "../../core/contract/user-errors.ts";
import { type ErrorDetails, LayoverError } from "../../core/errors.ts";
import { defaultLimits } from "../../core/limits.ts";
import type { Failure } from "../../core/replay/failing.ts";
import type { FailedUndo, Ending as Owed } from "../../core/replay/undos.ts";
import type { ClaimedRun, EndsAs } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";

export interface Ending {
  readonly next: "completed" | "failed" | "cancelled";
  /** The codec's text of the result or of the ErrorValue. */
  readonly value: string;
  /** How many undos failed for good, if it owed some. */
  readonly failedUndos?: number;
  /** What failed it, if its handler threw. */
  readonly failure?: Failure;
}

/**
 * Describes how the run ends. If it closes, that was decided when its handler ended (`endsAs`): what was released then cannot
 * be restored, so it ends so even if code that was deployed since would go on. More may have been recorded meanwhile, so
 * its failure is described anew.
 */
export async function describeEnd(loaded: LoadedRun, endsAs?: EndsAs | null): Promise<Ending> {
  if (endsAs == null) return await endOfHandler(loaded);
  const { failure, ...end } = endsAs;
  return failure === undefined ? end : { ...end, failure: loaded.execution.describeFailure({ at: failure.at }) };
}

async function endOfHandler({ execution, workflow, room }: LoadedRun): Promise<Ending> {
  const { closing, ending, outcome } = execution;
  if (ending !== undefined && outcome?.kind === "undone") return undone(ending, outcome.failed);
  const { contract } = workflow;
  if (closing?.kind === "closing") return { ...failed(new CancelledError(closing.reason)), next: "cancelled" };
  if (closing !== undefined) return failed(timedOut(contract.name));
  if (outcome?.kind === "threw")
    return { ...failed(outcome.error), failure: execution.describeFailure({ thrown: outcome.error }) };
  if (outcome?.kind !== "returned") return failed(undefined);
  try {
    const { output } = contract;
    const terms = { what: "the run's result", isSensitive: isSensitive(contract, "output") };
    const value =
      output === undefined ? outcome.value : await parse(output, outcome.value, { code: "invalid_output", ...terms });
    return { next: "completed", value: toStored(value, { ...terms, maxBytes: room.valueBytes }) };
  } catch (error) {
    return { ...failed(error), failure: execution.describeFailure({ thrown: error }) };
  }
}

/** The error stays the one for which the run ended. Its data tell which undos failed, the first ten of them. */
function undone({ next, error }: Owed, failedUndos: readonly FailedUndo[]): Ending {
  if (failedUndos.length === 0) return { next, value: error, failedUndos: 0 };
  const { data, ...original } = toErrorValue(fromStored(error, "the error of the run"));
  const compensation = { failed: failedUndos.slice(0, 10).map(describeUndo) };
  const both =
    typeof data === "object" && data !== null && !Array.isArray(data) ? data : data !== undefined && { data };
  const told = toErrorValue({ ...original, data: { ...both, compensation } });
  const isKept = typeof told.data === "object";
  const value = toStoredError(isKept ? told : { ...original, data: { compensation } });
  return { next, value, failedUndos: failedUndos.length };
}

function describeUndo({ step, error }: FailedUndo) {
  const { data, cause, ...thrown } = toErrorValue(error);
  const { name, message, code } = cause ?? thrown;
  return { step, error: { name, message: message.slice(0, 200), ...(code !== undefined && { code }) } };
}

export function failed(error: unknown): Ending {
  return { next: "failed", value: toStoredError(toErrorValue(error)) };
}

/** What a turn adds to a history: new records, their bytes, and waits of the handler, each of which will be a record. */
interface Growth {
  readonly records: number;
  readonly bytes: number;
  readonly demands: number;
}

/**
 * The error of a run whose history is full, or cannot hold what the handler asks for, as the codec's text. Undefined:
 * there is room.
 */
export function tooLong({ position, historyBytes }: ClaimedRun, growth: Growth): string | undefined {
  const { historyRecords, historyBytes: mostBytes } = defaultLimits;
  const records = position + growth.records;
  const bytes = historyBytes + growth.bytes;
  if (records >= historyRecords || bytes >= mostBytes) {
    return historyLimit(`the run's history has reached ${historyRecords} records or ${mostBytes} bytes`, {
      hint: "Start further runs from this one, and keep large values elsewhere.",
      details: { records, bytes },
    });
  }
  if (records + growth.demands <= historyRecords) return undefined;
  const room = historyRecords - records;
  return historyLimit(
    `the handler asks for more than ${room} steps and waits at once, and its history has no more room`,
    {
      hint: `A history holds ${historyRecords} records. Split the list, and start a run for each part. Nothing of it was carried out.`,
      details: { records, limit: historyRecords },
    },
  );
}

function historyLimit(message: string, options: { hint: string; details: ErrorDetails }): string {
  return failed(new LayoverError("history_limit", message, options)).value;
}

export function timedOut(workflow: string): LayoverError {
  return new LayoverError("run_timeout", `the run of "${workflow}" was not over at its timeout`, {
    hint: "Raise the contract's timeout, or find what the run waited for in its history.",
  });
}
