/** One after the other; the results in their order. */
import type { Program, Verb } from "./part.ts";
import { partAt } from "./part.ts";
import { prospectsAt, several, wordsAt } from "./parts.ts";
import { inTurn, listOf } from "./prospects.ts";
import { block } from "./words.ts";

export function sequenceOf(parts: readonly Program[]): Program {
  return {
    kind: "sequence",
    parts,
    play: async (playing) => {
      const results: unknown[] = [];
      for (const [index, part] of parts.entries()) {
        results.push(await part.play({ ...playing, at: partAt(playing.at, index) }));
      }
      return results;
    },
    prospects: (judging) => {
      const { reached, ...ends } = inTurn(prospectsAt(parts, judging));
      return { ...ends, returns: reached.length === parts.length ? listOf(reached) : undefined };
    },
    inWords: (at) => block("[", wordsAt(parts, at), "]"),
  };
}

export const sequence: Verb = {
  weight: 4,
  arbitrary: (inner) => several(inner).map(sequenceOf),
  orderly: (inner) => several(inner).map(sequenceOf),
};
