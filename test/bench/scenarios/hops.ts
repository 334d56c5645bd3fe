/** (b) Latency: runs one after another; a hop is from the start of one step to the start of the run's next. */

import { quantile } from "../figures.ts";
import type { Scenario } from "../scenario.ts";
import { Stopwatch } from "../stopwatch.ts";

type Shape = Pick<Scenario, "contenders"> & { readonly runs: number; readonly steps: number };

export function hops({ contenders, runs, steps }: Shape): Scenario {
  return {
    name: "b",
    title: `${runs} runs × ${steps} steps, one run after another`,
    contenders,
    aims: [{ figure: "hopP50Ms", of: "the ratio to the bound", is: "at most", limit: 1.5 }],
    async takeRound({ engine, measure }, share) {
      const runIds = await engine.start({ runs: Math.ceil(runs * share), steps });
      const hopsMs: number[] = [];
      const cost = await measure(runIds.length * steps, async () => {
        for (const runId of runIds) {
          const watch = new Stopwatch();
          await engine.carryOut([runId], watch.body);
          watch.expect(steps);
          hopsMs.push(...watch.hopsMs);
        }
      });
      return { ...cost, hopP50Ms: quantile(hopsMs, 0.5), hopP95Ms: quantile(hopsMs, 0.95) };
    },
  };
}
