/** `step.cleanup`: a piece of the handler that also runs while the run closes. */
import type { CleanupStep } from "../../contract/step.ts";
import { checkFunction, invalid } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";

export async function cleanup<Result>(
  scope: StepScope,
  name: string,
  inside: (context: { readonly step: CleanupStep }) => Promise<Result>,
): Promise<Result> {
  checkFunction(`the body of cleanup ${JSON.stringify(name)}`, inside, "({ step }) => …");
  // It is no item of the map around it, so it waits for no free slot.
  return inside({ step: scope.inside(`${scope.region(name)}/`, { isShielded: true, map: undefined }) });
}

/** @throws LayoverError `invalid_request` in a cleanup: what waits for others might never be over */
export function checkIsNoCleanup({ isShielded }: StepScope, what: string): void {
  if (isShielded)
    throw invalid(
      `${what} stands in a cleanup`,
      "A cleanup takes step.run, transaction, sleep, sleepUntil, scope, setStatus, patched, now, random and uuid.",
    );
}
