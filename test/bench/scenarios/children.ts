/** (h) Runs that one run starts and waits for, side by side: what each costs beside its own statements. */
import type { LongLivedEngine } from "../contender.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<LongLivedEngine>, "contenders"> & { readonly others: number };

export function children({ contenders, others }: Shape): Scenario<LongLivedEngine> {
  return {
    name: "h",
    title: `one run that invokes ${others.toLocaleString("en")} others of no steps, and waits for all`,
    contenders,
    aims: [{ figure: "statementsPerStep", of: "itself", is: "at most", limit: 0.1 }],
    async takeRound({ engine, measure }, share) {
      const expected = Math.ceil(others * share);
      const begunAt = performance.now();
      const { stepsPerSecond: _, ...cost } = await measure(expected, () => engine.invoke(expected));
      return { ...cost, allEndedMs: performance.now() - begunAt };
    },
  };
}
