/** `step.all`. */
import type { Program, Verb } from "./part.ts";
import { branchesOf, prospectsAt, several, wordsAt } from "./parts.ts";
import { together } from "./prospects.ts";
import { block, lambda } from "./words.ts";

export function allOf(parts: readonly Program[]): Program {
  return {
    kind: "all",
    parts,
    play: (playing) => playing.step.all("branches", branchesOf(parts, playing)),
    prospects: (judging) => together(prospectsAt(parts, judging)),
    inWords: (at) =>
      block(
        'await step.all("branches", [',
        wordsAt(parts, at).map((each) => lambda("{ step }", each)),
        "])",
      ),
  };
}

export const all: Verb = {
  weight: 2,
  arbitrary: (inner) => several(inner).map(allOf),
  orderly: (inner) => several(inner).map(allOf),
};
