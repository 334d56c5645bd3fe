/** The option `compensate` of `step.run` and `step.invoke`. */
import { resolveRetry } from "../../contract/retry.ts";
import type { Compensate, StepContext, UndoContext } from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import type { UndoBody } from "../demand.ts";
import { undoRetry } from "../undos.ts";
import { checkIsNoCleanup } from "./cleanup.ts";
import { checkFunction, checkOptions } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";

/** `originalOf`: what is told of the step, by the position of its record. */
export function undoOf<Result, Original>(
  scope: StepScope,
  what: string,
  compensate: Compensate<Result, Original>,
  originalOf: (recordedAt: number | undefined) => Original,
): UndoBody {
  checkIsNoCleanup(scope, `the undo of ${what}`);
  const isAlone = typeof compensate === "function";
  if (!isAlone) checkOptions(`the undo of ${what}`, compensate, ["run", "retry", "timeout"]);
  const { run: undo, retry, timeout } = isAlone ? { run: compensate } : compensate;
  checkFunction(`the undo of ${what}`, undo, "(result) => refund(result)");
  return {
    run: (result, context, { recordedAt, outcome, error }) =>
      // the body's own result, through the codec
      undo(result as Result | undefined, withContext(context, { outcome, error, original: originalOf(recordedAt) })),
    retry: retry === undefined ? undoRetry : resolveRetry(retry),
    timeoutMs: timeout === undefined ? scope.options.stepTimeoutMs : toMilliseconds(timeout, { field: "timeout" }),
  };
}

/** Keeps the getters of the context: a key and a signal that nobody asks for are not made. */
function withContext<Original>(
  context: StepContext,
  about: Omit<UndoContext<Original>, keyof StepContext>,
): UndoContext<Original> {
  return {
    attempt: context.attempt,
    get idempotencyKey() {
      return context.idempotencyKey;
    },
    get abortSignal() {
      return context.abortSignal;
    },
    ...about,
  };
}
