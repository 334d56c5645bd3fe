/** What a person does to a run, and what becomes of it: checked here, before anything is sent. */
import { v7 } from "uuid";
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import type { OperationAnswer, OperationCall, SingleVerb } from "../postgres/wire-operations.ts";
import { isUuid, knownRunId } from "./run-id.ts";

export interface OperationOptions {
  /** Why, in at most 2,000 characters. It is kept with the run. */
  readonly reason?: string | undefined;
  /** The name of the person who asks. It is kept with the run. */
  readonly by?: string | undefined;
  /** Id of this call (a uuid), made by you. The same call again gets the same answer and does nothing. */
  readonly callId?: string | undefined;
}

/** The answer to an operation that was done, now or by the same call before. */
export interface OperationReceipt {
  readonly runId: string;
  readonly outcome: "paused" | "resumed" | "cancelling" | "cancelled" | "terminated" | "deleted";
}

const longestReason = 2_000;

/** @throws LayoverError `unknown_run`, `invalid_request`, `invalid_name` */
export function operationCall(runId: string, { reason, by, callId = v7() }: OperationOptions): OperationCall {
  return { runId: knownRunId(runId), callId: checkCallId(callId), ...operationTerms({ reason, by }) };
}

/** @throws LayoverError `invalid_request`, `invalid_name` */
export function operationTerms({
  reason,
  by,
}: Pick<OperationOptions, "reason" | "by">): Pick<OperationCall, "reason" | "by"> {
  return {
    ...(reason !== undefined && { reason: checkReason(reason) }),
    ...(by !== undefined && { by: checkName(by, "by") }),
  };
}

/** @throws LayoverError `not_applicable` */
export function receiptOf(
  verb: SingleVerb,
  answer: Exclude<OperationAnswer, { outcome: "unknown" }>,
): OperationReceipt {
  const { runId, outcome } = answer;
  if (outcome !== "not_applicable") return { runId, outcome };
  const { status } = answer;
  throw new LayoverError("not_applicable", `the run ${runId} is ${status}, so it cannot be ${done[verb]}`, {
    hint: hints[verb],
    details: { runId, runStatus: status },
  });
}

const done = {
  pause: "paused",
  resume: "resumed",
  cancel: "cancelled",
  terminate: "terminated",
  delete: "deleted",
} as const;
const hints = {
  pause: "A run cannot be paused when it is over, while it cleans up, and before it begins with its undos.",
  resume: "Only a paused run can be resumed. Nothing is left to do.",
  cancel: "It has ended, or ends as failed: it cleans up, or undoes what it did. Terminate it if it does not end.",
  terminate: "It has ended already. Nothing is left to do.",
  delete: "Only a run that is over can be deleted. Cancel or terminate it first.",
} as const;

function checkCallId(callId: string): string {
  if (isUuid(callId)) return callId;
  throw new LayoverError("invalid_request", "the callId is not a uuid", {
    hint: "Make it with `crypto.randomUUID()`, or leave it out.",
    details: { field: "callId" },
  });
}

function checkReason(reason: string): string {
  const isStorable = reason.isWellFormed() && !reason.includes("\u0000");
  if (isStorable && reason.length <= longestReason) return reason;
  const why = isStorable
    ? `is longer than ${longestReason} characters`
    : "holds a character that Postgres cannot store";
  throw new LayoverError("invalid_request", `the reason ${why}`, {
    hint: "Say it in a sentence or two.",
    details: { field: "reason", limit: longestReason, size: reason.length },
  });
}
