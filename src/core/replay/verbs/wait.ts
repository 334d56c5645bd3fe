/** The wait for a signal or for the answer of a callback. */
import type { WaitOptions } from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import type { Execution } from "../execution.ts";
import { checkOptions, invalid } from "./step-checks.ts";
import type { DemandPlace } from "./step-scope.ts";

export const optionsOfWait = ["timeout", "onTimeout"];

interface Waited {
  readonly kind: "signal" | "callback";
  readonly name: string;
  readonly at: DemandPlace;
  readonly epoch?: number | undefined;
}

export async function wait(
  execution: Execution,
  { kind, name, at, epoch }: Waited,
  options: WaitOptions = {},
): Promise<unknown> {
  const what = `the wait for ${kind} ${JSON.stringify(name)}`;
  checkOptions(what, options, optionsOfWait);
  const { timeout, onTimeout = "throw" } = options;
  if (onTimeout !== "throw" && onTimeout !== "null") {
    throw invalid(`onTimeout of ${what} is ${JSON.stringify(onTimeout)}`, 'Use "throw" or "null".');
  }
  const timeoutMs = timeout === undefined ? undefined : toMilliseconds(timeout, { field: "timeout" });
  const until = timeoutMs === undefined ? undefined : execution.now + timeoutMs;
  return execution.demand(at, { kind, name, until, timeoutMs, onTimeout, epoch });
}
