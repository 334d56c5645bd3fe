/** (k) A run that fails, and undoes each of its steps. */
import type { LongLivedEngine } from "../contender.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<LongLivedEngine>, "contenders"> & { readonly undos: number };

export function undosOf({ contenders, undos }: Shape): Scenario<LongLivedEngine> {
  return {
    name: "k",
    title: `a run that undoes ${undos} steps (each figure is of a step and its undo)`,
    contenders,
    aims: [{ figure: "statementsPerStep", of: "itself", is: "at most", limit: 2.2 }],
    async takeRound({ engine, measure }, share) {
      const expected = Math.ceil(undos * share);
      let allEndedMs = 0;
      const { stepsPerSecond: _, ...cost } = await measure(expected, async () => {
        allEndedMs = await engine.undo(expected);
      });
      return { ...cost, allEndedMs };
    },
  };
}
