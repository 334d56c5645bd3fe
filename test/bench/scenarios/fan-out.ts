/** (e) Branches: many at once, of many runs; and whether one costs more the more of them a run has. */

import type { FanningEngine } from "../contender.ts";
import type { Scenario } from "../scenario.ts";
import { Stopwatch } from "../stopwatch.ts";

type Shape = Pick<Scenario<FanningEngine>, "contenders"> & {
  readonly runs: number;
  readonly branches: number;
  /** The same number of branches is carried out in runs of so many each, one run after another. */
  readonly narrow: number;
  readonly wide: number;
};

export function fanOut({ contenders, runs, branches, narrow, wide }: Shape): Scenario<FanningEngine> {
  return {
    name: "e",
    title: `${runs} runs × ${branches} branches; and runs of ${wide.toLocaleString("en")} against runs of ${narrow}`,
    contenders,
    aims: [
      { figure: "branchGrowth", of: "itself", is: "at most", limit: 1.3 },
      { figure: "continuations", of: "itself", is: "at most", limit: 1 },
    ],
    async takeRound({ engine, measure }, share) {
      const runIds = await engine.start({ runs, steps: Math.ceil(branches * share) });
      const watch = new Stopwatch();
      const expected = runs * Math.ceil(branches * share);
      const cost = await measure(expected, () => engine.carryOut(runIds, watch.body));
      watch.expect(expected);
      const continuations = await engine.continuations(runIds);
      const narrowMs = await oneAfterAnother(engine, { runs: wide / narrow, steps: Math.ceil(narrow * share) });
      const wideMs = await oneAfterAnother(engine, { runs: 1, steps: Math.ceil(wide * share) });
      return { ...cost, continuations, branchGrowth: wideMs / narrowMs };
    },
  };
}

async function oneAfterAnother(engine: FanningEngine, work: { runs: number; steps: number }): Promise<number> {
  const runIds = await engine.start(work);
  const watch = new Stopwatch();
  const beganAt = performance.now();
  for (const runId of runIds) await engine.carryOut([runId], watch.body);
  const tookMs = performance.now() - beganAt;
  watch.expect(work.runs * work.steps);
  return tookMs;
}
