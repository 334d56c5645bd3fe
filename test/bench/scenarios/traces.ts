/** (m) What traces and metrics cost: many runs at once, as in (a), beside the same without them. */

import { roundOfRuns } from "../round-of-runs.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario, "contenders"> & { readonly runs: number; readonly steps: number };

export function tracesOf({ contenders, runs, steps }: Shape): Scenario {
  return {
    name: "m",
    title: `${runs.toLocaleString("en")} runs × ${steps} steps, traced`,
    contenders,
    held: "layover, traced",
    // Two spans and two counts take 75 µs of a CPU, most of it OpenTelemetry's own. A step without a body takes 480.
    aims: [{ figure: "stepsPerSecond", of: "the ratio to the bound", is: "at least", limit: 0.8 }],
    takeRound: roundOfRuns({ runs, steps }),
  };
}
