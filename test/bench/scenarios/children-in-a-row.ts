/** (i) From the end of a run to the next step of the run that waits for it. */
import type { LongLivedEngine } from "../contender.ts";
import { quantile } from "../figures.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<LongLivedEngine>, "contenders"> & { readonly others: number };

export function childrenInARow({ contenders, others }: Shape): Scenario<LongLivedEngine> {
  return {
    name: "i",
    title: `one run that invokes ${others.toLocaleString("en")} others, one after another: a child's end to the next step`,
    contenders,
    aims: [{ figure: "hopP50Ms", of: "itself", is: "at most", limit: 10 }],
    async takeRound({ engine, measure }, share) {
      let hopsMs: readonly number[] = [];
      const expected = Math.ceil(others * share);
      const { stepsPerSecond: _, ...cost } = await measure(expected, async () => {
        hopsMs = await engine.invokeInARow(expected);
      });
      return { ...cost, hopP50Ms: quantile(hopsMs, 0.5), hopP95Ms: quantile(hopsMs, 0.95) };
    },
  };
}
