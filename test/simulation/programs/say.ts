/** `step.setStatus`: what the run says of itself. */

import fc from "fast-check";
import type { Program, Verb } from "./part.ts";
import { exactly, returning } from "./prospects.ts";

export const saying: Program = {
  kind: "say",
  parts: [],
  play: async ({ step, runId, at, world }) => {
    world.onStatus?.(runId, at);
    step.setStatus(at);
    return at;
  },
  prospects: ({ at }) => returning(exactly(at)),
  inWords: (at) => `step.setStatus("${at}")`,
};

export const say: Verb = { weight: 1, arbitrary: () => fc.constant(saying), orderly: () => fc.constant(saying) };
