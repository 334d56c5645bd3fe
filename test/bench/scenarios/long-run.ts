/** (c) Does a step cost more the longer the history is? One run; its first hundred hops against its last. */

import type { Scenario } from "../scenario.ts";
import { Stopwatch } from "../stopwatch.ts";

type Shape = Pick<Scenario, "contenders"> & { readonly steps: number };

export function longRun({ contenders, steps }: Shape): Scenario {
  return {
    name: "c",
    title: `one run of ${steps.toLocaleString("en")} steps`,
    contenders,
    aims: [{ figure: "growth", of: "itself", is: "at most", limit: 1.3 }],
    async takeRound({ engine, measure }, share) {
      const expected = Math.ceil(steps * share);
      const runIds = await engine.start({ runs: 1, steps: expected });
      const watch = new Stopwatch();
      const cost = await measure(expected, () => engine.carryOut(runIds, watch.body));
      watch.expect(expected);
      const firstHundredMs = sum(watch.hopsMs.slice(0, 100));
      const lastHundredMs = sum(watch.hopsMs.slice(-100));
      return { ...cost, firstHundredMs, lastHundredMs, growth: lastHundredMs / firstHundredMs };
    },
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
