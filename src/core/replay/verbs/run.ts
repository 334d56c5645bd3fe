/** `step.run`: a named piece of work, whose result is kept. */
import { once, resolveRetry } from "../../contract/retry.ts";
import type { RunOptions, StepContext } from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import { placeName } from "../demand.ts";
import { idempotencyKey } from "../seeded.ts";
import { checkFunction, checkOptions, invalid } from "./step-checks.ts";
import { keyPart } from "./step-key.ts";
import type { StepScope } from "./step-scope.ts";
import { undoOf } from "./undo.ts";

const taken = ["retry", "semantics", "timeout", "key", "sensitiveKey", "sensitive", "compensate"];

export async function run<Result>(
  scope: StepScope,
  name: string,
  body: (context: StepContext) => Result | Promise<Result>,
  options: RunOptions<Result> = {},
): Promise<Result> {
  const { execution, announces } = scope;
  const { stepTimeoutMs, digest, keySeed } = scope.options;
  const what = `step ${JSON.stringify(name)}`;
  checkFunction(`the body of ${what}`, body, "() => fetch(url)");
  checkOptions(what, options, taken);
  const { retry, semantics, timeout, key, sensitiveKey, sensitive = false, compensate } = options;
  const isAtMostOnce = readSemantics(what, semantics) === "at-most-once";
  const timeoutMs = timeout === undefined ? stepTimeoutMs : toMilliseconds(timeout, { field: "timeout" });
  const at = scope.place(name, keyPart(what, { key, isSensitive: sensitiveKey, digest }));
  const originalOf = (recordedAt: number | undefined) => ({
    get idempotencyKey() {
      return idempotencyKey((text) => keySeed(text, recordedAt), at);
    },
  });
  const result = await execution.demand(at, {
    kind: "step",
    body: (context: StepContext) => execution.bodies.call(placeName(at), () => body(context)),
    retry: isAtMostOnce && retry === undefined ? once : resolveRetry(retry),
    timeoutMs,
    ...(isAtMostOnce && { isAtMostOnce }),
    ...(sensitive && { isSensitive: true }),
    announces,
    undo: compensate === undefined ? undefined : undoOf(scope, what, compensate, originalOf),
  });
  return result as Result; // the body's own result, through the codec
}

function readSemantics(what: string, semantics: unknown): unknown {
  if (semantics === undefined || semantics === "at-least-once" || semantics === "at-most-once") return semantics;
  throw invalid(
    `the semantics of ${what} are ${JSON.stringify(semantics)}`,
    'Write { semantics: "at-most-once" }, or leave it out: then the step runs at least once.',
  );
}
