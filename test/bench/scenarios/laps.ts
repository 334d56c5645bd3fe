/** (j) Does a lap cost more the more laps there were? One run that continues as new; its first tenth against its last. */
import type { LongLivedEngine } from "../contender.ts";
import { quantile } from "../figures.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<LongLivedEngine>, "contenders"> & { readonly laps: number; readonly steps: number };

export function lapsOf({ contenders, laps, steps }: Shape): Scenario<LongLivedEngine> {
  return {
    name: "j",
    title: `one run that continues as new ${laps.toLocaleString("en")} times, ${steps} steps a lap`,
    contenders,
    aims: [{ figure: "growth", of: "itself", is: "at most", limit: 1.3 }],
    async takeRound({ engine, measure }, share) {
      let lapsMs: readonly number[] = [];
      const expected = Math.ceil(laps * share);
      const { stepsPerSecond: _, ...cost } = await measure(expected, async () => {
        lapsMs = await engine.continueAsNew(expected, steps);
      });
      const tenth = Math.ceil(expected / 10);
      const growth = quantile(lapsMs.slice(-tenth), 0.5) / quantile(lapsMs.slice(0, tenth), 0.5);
      return { ...cost, hopP50Ms: quantile(lapsMs, 0.5), hopP95Ms: quantile(lapsMs, 0.95), growth };
    },
  };
}
