/** `try` and `catch`: what was thrown becomes a value. */
import { type Program, partAt, type Verb } from "./part.ts";
import { eitherOf } from "./prospects.ts";
import { holding, thrownOf } from "./thrown.ts";
import { lambda } from "./words.ts";

export function caught(body: Program): Program {
  return {
    kind: "caught",
    parts: [body],
    play: async (playing) => {
      try {
        return await body.play({ ...playing, at: partAt(playing.at, 0) });
      } catch (error) {
        return { caught: thrownOf(error) };
      }
    },
    prospects: (judging) => {
      const { returns, throws, mayHang } = body.prospects({ ...judging, at: partAt(judging.at, 0) });
      return { returns: eitherOf([returns, throws && holding("caught", throws)]), throws: undefined, mayHang };
    },
    inWords: (at) => `await caught(${lambda("", body.inWords(partAt(at, 0)))})`,
  };
}

export const tryCatch: Verb = {
  weight: 2,
  arbitrary: (inner) => inner.map(caught),
  orderly: (inner) => inner.map(caught),
};
