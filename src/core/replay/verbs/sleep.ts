/** `step.sleep` and `step.sleepUntil`: waits for an instant. */
import { type Duration, toMilliseconds } from "../../duration.ts";
import { invalid } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";

export async function sleep(scope: StepScope, name: string, duration: Duration): Promise<void> {
  const { execution } = scope;
  const until = execution.now + toMilliseconds(duration, { field: "duration" });
  await execution.demand(scope.place(name), { kind: "sleep", until });
}

export async function sleepUntil(scope: StepScope, name: string, instant: Date | number): Promise<void> {
  const until = Math.ceil(Number(instant));
  if (Number.isNaN(new Date(until).getTime())) {
    throw invalid(`sleepUntil ${JSON.stringify(name)} got no valid time`, "Pass a Date, or epoch milliseconds.");
  }
  await scope.execution.demand(scope.place(name), { kind: "sleep", until, isNamed: true });
}
