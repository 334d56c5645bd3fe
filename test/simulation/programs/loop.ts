/** Again and again, until a drawn number says that it is enough. */
import fc from "fast-check";
import { type Program, roundAt, type Verb } from "./part.ts";
import { inTurn, someOf } from "./prospects.ts";
import { lambda, roundIn } from "./words.ts";

export function looping(body: Program, most: number): Program {
  const parts = Array.from({ length: most }, () => body);
  return {
    kind: "loop",
    parts,
    play: async (playing) => {
      const results: unknown[] = [];
      do results.push(await body.play({ ...playing, at: roundAt(playing.at, results.length) }));
      while (results.length < most && playing.step.random() < 0.6);
      return results;
    },
    prospects: (judging) => {
      const rounds = parts.map((part, round) => part.prospects({ ...judging, at: roundAt(judging.at, round) }));
      const { reached, ...ends } = inTurn(rounds);
      return { ...ends, returns: someOf(reached) };
    },
    inWords: (at) =>
      `await upTo(${most}, ${lambda(roundIn(at), body.inWords(roundAt(at, roundIn(at))))}, { while: step.random() < 0.6 })`,
  };
}

export const loop: Verb = {
  weight: 1,
  arbitrary: (inner) => fc.tuple(inner, fc.integer({ min: 1, max: 3 })).map(([body, most]) => looping(body, most)),
};
