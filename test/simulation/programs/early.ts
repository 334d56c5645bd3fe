/** One after the other, with a return after each that may be taken. */
import type { Program, Verb } from "./part.ts";
import { partAt } from "./part.ts";
import { prospectsAt, several, wordsAt } from "./parts.ts";
import { inTurn, someOf } from "./prospects.ts";
import { block } from "./words.ts";

export function leaving(parts: readonly Program[]): Program {
  return {
    kind: "early",
    parts,
    play: async (playing) => {
      const results: unknown[] = [];
      for (const [index, part] of parts.entries()) {
        results.push(await part.play({ ...playing, at: partAt(playing.at, index) }));
        if (playing.step.random() < 0.4) return results;
      }
      return results;
    },
    prospects: (judging) => {
      const { reached, ...ends } = inTurn(prospectsAt(parts, judging));
      return { ...ends, returns: someOf(reached) };
    },
    inWords: (at) =>
      block(
        "[",
        wordsAt(parts, at).flatMap((each) => [each, "...returnIf(step.random() < 0.4)"]),
        "]",
      ),
  };
}

export const early: Verb = { weight: 1, arbitrary: (inner) => several(inner).map(leaving) };
