/** `step.sleep` and `step.sleepUntil`. Each tells whether it slept in full. */
import fc from "fast-check";
import type { Program, Verb } from "./part.ts";
import { exactly, returning } from "./prospects.ts";
import { names } from "./step.ts";

const inFull = "slept in full";

export function sleeping(name: string, ms: number): Program {
  return {
    kind: "sleep",
    parts: [],
    play: async ({ step }) => {
      const before = step.now().getTime();
      const nothing: unknown = await step.sleep(name, ms);
      const slept = step.now().getTime() - before;
      return nothing === undefined && slept >= ms ? inFull : `slept ${slept} ms, and got ${String(nothing)}`;
    },
    prospects: () => returning(exactly(inFull)),
    inWords: () => `await step.sleep("${name}", ${ms})`,
  };
}

/** `ms` from the time of the last record; the past is now. */
function sleepingUntil(name: string, ms: number): Program {
  return {
    kind: "sleepUntil",
    parts: [],
    play: async ({ step }) => {
      const until = new Date(step.now().getTime() + ms);
      await step.sleepUntil(name, ms % 2 === 0 ? until : until.getTime());
      const early = until.getTime() - step.now().getTime();
      return early <= 0 ? inFull : `woke ${early} ms early`;
    },
    prospects: () => returning(exactly(inFull)),
    inWords: () => `await step.sleepUntil("${name}", step.now() + ${ms})`,
  };
}

const hour = 3_600_000;
const durations = fc.constantFrom(0, 1, 1_000, 90_000, 600_000, 600_000, 26 * hour);
const instants = fc.constantFrom(0, 1, -30_000, 45_000, hour);
const sleeps = fc.oneof(
  { withCrossShrink: true },
  { weight: 3, arbitrary: fc.tuple(names, durations).map(([name, ms]) => sleeping(name, ms)) },
  { weight: 1, arbitrary: fc.tuple(names, instants).map(([name, ms]) => sleepingUntil(name, ms)) },
);

export const sleep: Verb = { weight: 3, arbitrary: () => sleeps, orderly: () => sleeps };
