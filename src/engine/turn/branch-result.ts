/** What the finish of a branch records of an attempt: its result, or that it failed and is made again. */
import { utf8Size } from "../../core/utf8-size.ts";
import type { FinishBranch } from "../../postgres/wire.ts";
import type { AttemptResult } from "./attempt.ts";

export function branchResult(
  result: Exclude<AttemptResult, { readonly kind: "committed" }>,
  number: number,
  requestId: string | undefined,
): Pick<FinishBranch, "attempt" | "record" | "bytes"> {
  const { beganAt, endedAt } = result;
  const recorded = (value: string, isFailure: boolean) => ({
    record: { value, isFailure, at: endedAt, beganAt, attempts: number },
    bytes: utf8Size(value),
  });
  if (result.kind === "succeeded") return recorded(result.value, false);
  const { error, retryInMs } = result;
  const attempt = { number, beganAt, endedAt, error, ...(requestId !== undefined && { requestId }) };
  return retryInMs === undefined ? { attempt, ...recorded(error, true) } : { attempt: { ...attempt, retryInMs } };
}
