/** A round that starts many runs at once and measures until all of them are over. */

import type { Scenario } from "./scenario.ts";
import { Stopwatch } from "./stopwatch.ts";

export function roundOfRuns({ runs, steps }: { readonly runs: number; readonly steps: number }): Scenario["takeRound"] {
  return async ({ engine, measure }, share) => {
    const runIds = await engine.start({ runs: Math.ceil(runs * share), steps });
    const watch = new Stopwatch();
    const expected = runIds.length * steps;
    const cost = await measure(expected, () => engine.carryOut(runIds, watch.body));
    watch.expect(expected);
    return cost;
  };
}
