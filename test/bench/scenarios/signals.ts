/** (g) Latency of what comes from outside: from the sending of a signal to the end of the run that waits for it. */

import type { SignalledEngine } from "../contender.ts";
import { quantile } from "../figures.ts";
import type { Scenario } from "../scenario.ts";

type Shape = Pick<Scenario<SignalledEngine>, "contenders"> & { readonly runs: number };

export function signals({ contenders, runs }: Shape): Scenario<SignalledEngine> {
  return {
    name: "g",
    title: `a signal to each of ${runs} runs that wait for it, one after another`,
    contenders,
    aims: [{ figure: "endP50Ms", of: "itself", is: "at most", limit: 4 }],
    async takeRound({ engine, measure }, share) {
      const runIds = await engine.startWaiting(Math.ceil(runs * share));
      const tookMs: number[] = [];
      const { stepsPerSecond: _, ...cost } = await measure(runIds.length, async () => {
        for (const runId of runIds) {
          const sentAt = performance.now();
          await engine.signal(runId);
          tookMs.push(performance.now() - sentAt);
        }
      });
      return { ...cost, endP50Ms: quantile(tookMs, 0.5), endP95Ms: quantile(tookMs, 0.95) };
    },
  };
}
