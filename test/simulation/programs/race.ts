/** `step.race`: the first branch to settle; the others are released. */
import type { Program, Verb } from "./part.ts";
import { branchesOf, prospectsAt, several, wordsAt } from "./parts.ts";
import { firstOf } from "./prospects.ts";
import { block, lambda } from "./words.ts";

/** No other part has this name. So a path tells whether it stands in a race. */
const name = "race";

export function raceOf(parts: readonly Program[]): Program {
  return {
    kind: "race",
    parts,
    play: (playing) => playing.step.race(name, branchesOf(parts, { ...playing, entered: new Set() })),
    prospects: (judging) => firstOf(prospectsAt(parts, judging)),
    inWords: (at) =>
      block(
        `await step.race("${name}", [`,
        wordsAt(parts, at).map((each) => lambda("{ step }", each)),
        "])",
      ),
  };
}

export const race: Verb = { weight: 2, arbitrary: (inner) => several(inner).map(raceOf) };
