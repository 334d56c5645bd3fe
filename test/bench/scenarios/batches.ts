/** (d) Throughput of batch turns: many runs at once, hundreds of them in a call. */

import { roundOfRuns } from "../round-of-runs.ts";
import type { Scenario } from "../scenario.ts";

/**
 * As many calls at once, and so 400 runs. More of them only wait for each other, and fill memory. (With 2, 4, 8, 16: the bound
 * 75, 99, 94, 107 thousand steps/s, layover 43, 38, 27, 33 thousand.)
 */
const connections = 4;

type Shape = Pick<Scenario, "contenders"> & { readonly runs: number; readonly steps: number; readonly batch: number };

export function batches({ contenders, runs, steps, batch }: Shape): Scenario {
  return {
    name: "d",
    title: `${runs.toLocaleString("en")} runs × ${steps} steps, in batches of ${batch}`,
    contenders,
    connections,
    aims: [
      { figure: "stepsPerSecond", of: "itself", is: "at least", limit: 12_000 },
      // A step takes layover 40 µs of Node and the bound 5, as the bound carries nothing out. So the ratio is that of two CPUs' work.
      { figure: "stepsPerSecond", of: "the ratio to the bound", is: "at least", limit: 0.2 },
      { figure: "statementsPerStep", of: "itself", is: "at most", limit: 0.1 },
    ],
    takeRound: roundOfRuns({ runs, steps }),
  };
}
