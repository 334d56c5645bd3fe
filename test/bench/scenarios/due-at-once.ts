/** (f) Many runs become due at one instant: how late the first of them begins, and when all are over. */

import type { WakingEngine } from "../contender.ts";
import type { Scenario } from "../scenario.ts";
import { Stopwatch } from "../stopwatch.ts";

type Shape = Pick<Scenario<WakingEngine>, "contenders"> & {
  readonly runs: number;
  /** So long before the instant the starting begins. Whoever is not ready by then is not compared. */
  readonly preparationMs: number;
};

export function dueAtOnce({ contenders, runs, preparationMs }: Shape): Scenario<WakingEngine> {
  return {
    name: "f",
    title: `${runs.toLocaleString("en")} runs of a step, due at one instant`,
    contenders,
    aims: [
      { figure: "firstStartMs", of: "itself", is: "at most", limit: 100 },
      { figure: "allEndedMs", of: "itself", is: "at most", limit: 5_000 },
    ],
    async takeRound({ engine, measure }, share) {
      const expected = Math.ceil(runs * share);
      const at = Math.ceil(Date.now() + preparationMs);
      const atMs = performance.now() + at - Date.now();
      const runIds = await engine.startAt(at, { runs: expected, steps: 1 });
      const watch = new Stopwatch();
      let allEndedMs = 0;
      const cost = await measure(expected, async () => {
        if (performance.now() > atMs) throw new Error(`Starting ${expected} runs took too long.`);
        await engine.untilOver(runIds, watch.body);
        allEndedMs = performance.now() - atMs;
      });
      watch.expect(expected);
      const { stepsPerSecond: _, ...perRun } = cost; // the wait for the instant is in it
      return { ...perRun, firstStartMs: (watch.startedAtMs[0] ?? Number.NaN) - atMs, allEndedMs };
    },
  };
}
