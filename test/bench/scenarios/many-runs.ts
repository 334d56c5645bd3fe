/** (a) Throughput: many runs at once, one step of one run per turn. */

import { roundOfRuns } from "../round-of-runs.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario, "contenders"> & { readonly runs: number; readonly steps: number };

export function manyRuns({ contenders, runs, steps }: Shape): Scenario {
  return {
    name: "a",
    title: `${runs.toLocaleString("en")} runs × ${steps} steps, one run per turn`,
    contenders,
    aims: [
      // Both cores are busy. So the ratio says how much CPU a step takes: here 0.58 to 0.66, by the machine and the hour.
      { figure: "stepsPerSecond", of: "the ratio to the bound", is: "at least", limit: 0.55 },
      { figure: "statementsPerStep", of: "itself", is: "at most", limit: 2.05 },
      { figure: "walBytesPerStep", of: "itself", is: "at most", limit: 900 },
    ],
    takeRound: roundOfRuns({ runs, steps }),
  };
}
