/** `step.waitForSignal` and `step.close`: takes signals, and ends the taking of a name. */
import type { WaitOptions } from "../../contract/step.ts";
import { checkIsNoCleanup } from "./cleanup.ts";
import { checkIsDeclared, invalid } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";
import { wait } from "./wait.ts";

export async function waitForSignal(scope: StepScope, name: string, options?: WaitOptions): Promise<unknown> {
  const { execution } = scope;
  checkIsNoCleanup(scope, `the wait for signal ${JSON.stringify(name)}`);
  checkIsDeclared("signal", name, scope.options.signals);
  if (execution.closed.has(name)) {
    throw invalid(`the signal ${JSON.stringify(name)} is closed`, "Wait for it before step.close(…), not after it.");
  }
  return wait(execution, { kind: "signal", name, at: scope.place(name) }, options);
}

export async function close(scope: StepScope, name: string): Promise<boolean> {
  const { execution } = scope;
  checkIsNoCleanup(scope, `close ${JSON.stringify(name)}`);
  checkIsDeclared("signal", name, scope.options.signals);
  const isClosed = (await execution.demand(scope.place(name), { kind: "close", name })) === true;
  if (isClosed) execution.closed.add(name);
  return isClosed;
}
