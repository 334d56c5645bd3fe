/** `step.continueAsNew`: ends this history of the run, and begins the next one with another input. */
import { checkIsNoCleanup } from "./cleanup.ts";
import type { StepScope } from "./step-scope.ts";

export async function continueAsNew(scope: StepScope, input: unknown): Promise<never> {
  const { execution, options } = scope;
  checkIsNoCleanup(scope, "continueAsNew");
  const at = scope.place("continueAsNew");
  const encoded = await options.encodeInput(input);
  await execution.demand(at, { kind: "continueAsNew", input: encoded });
  throw new Error("a run has continued as new, and its old handler goes on");
}
