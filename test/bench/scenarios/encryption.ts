/** (n) What encryption costs a step: the same engine with it and without it. The first contender is without. */

import { roundOfRuns } from "../round-of-runs.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario, "contenders"> & { readonly runs: number; readonly steps: number };

export function encryption({ contenders, runs, steps }: Shape): Scenario {
  return {
    name: "n",
    title: `${runs.toLocaleString("en")} runs × ${steps} steps, encrypted`,
    contenders,
    held: "layover, encrypted",
    // A value is sealed once a step: 70 µs of a CPU with the walk through the call. A step without a body takes 480.
    aims: [{ figure: "stepsPerSecond", of: "the ratio to the bound", is: "at least", limit: 0.8 }],
    takeRound: roundOfRuns({ runs, steps }),
  };
}
