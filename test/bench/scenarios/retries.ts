/** (l) The retry of a run with a long history. */
import type { LongLivedEngine } from "../contender.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<LongLivedEngine>, "contenders"> & { readonly steps: number };

export function retries({ contenders, steps }: Shape): Scenario<LongLivedEngine> {
  return {
    name: "l",
    title: `the retry of a run that failed after ${steps.toLocaleString("en")} steps`,
    contenders,
    aims: [{ figure: "retryMs", of: "itself", is: "at most", limit: 1_000 }],
    async takeRound({ engine }, share) {
      return { retryMs: await engine.retry(Math.ceil(steps * share)) };
    },
  };
}
