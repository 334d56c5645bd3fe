/** `if` and `else`, by a drawn number. */
import fc from "fast-check";
import { type Program, partAt, type Verb } from "./part.ts";
import { prospectsAt, wordsAt } from "./parts.ts";
import { oneOf } from "./prospects.ts";
import { block, promise } from "./words.ts";

export function choosing(heads: Program, tails: Program): Program {
  const parts = [heads, tails];
  return {
    kind: "either",
    parts,
    play: (playing) => {
      const index = playing.step.random() < 0.5 ? 0 : 1;
      return (index === 0 ? heads : tails).play({ ...playing, at: partAt(playing.at, index) });
    },
    prospects: (judging) => oneOf(prospectsAt(parts, judging)),
    inWords: (at) => {
      const [first = "", second = ""] = wordsAt(parts, at).map(promise);
      return `await ${block("(step.random() < 0.5 ?", [`${first} :\n${second}`], ")")}`;
    },
  };
}

export const either: Verb = {
  weight: 1,
  arbitrary: (inner) => fc.tuple(inner, inner).map(([heads, tails]) => choosing(heads, tails)),
};
