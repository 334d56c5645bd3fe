/** `step.run`: a named piece of work, whose result is kept. */
import { resolveRetry } from "../../contract/retry.ts";
import type { StepContext, StepOptions } from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import { placeName } from "../demand.ts";
import { checkFunction, checkOptions } from "./step-checks.ts";
import { keyPart } from "./step-key.ts";
import type { StepScope } from "./step-scope.ts";

const taken = ["retry", "timeout", "key", "sensitiveKey"];

export async function run<Result>(
  scope: StepScope,
  name: string,
  body: (context: StepContext) => Result | Promise<Result>,
  options: StepOptions = {},
): Promise<Result> {
  const { execution, announces } = scope;
  const { stepTimeoutMs, digest } = scope.options;
  const what = `step ${JSON.stringify(name)}`;
  checkFunction(`the body of ${what}`, body, "() => fetch(url)");
  checkOptions(what, options, taken);
  const { retry, timeout, key, sensitiveKey: isSensitive } = options;
  const timeoutMs = timeout === undefined ? stepTimeoutMs : toMilliseconds(timeout, { field: "timeout" });
  const at = scope.place(name, keyPart(what, { key, isSensitive, digest }));
  const result = await execution.demand(at, {
    kind: "step",
    body: (context: StepContext) => execution.bodies.call(placeName(at), () => body(context)),
    retry: resolveRetry(retry),
    timeoutMs,
    announces,
  });
  return result as Result; // the body's own result, through the codec
}
