/** `try` and `finally`: something is done in the end, whatever came of the body. */
import fc from "fast-check";
import { type Program, partAt, type Verb } from "./part.ts";
import { eitherOf } from "./prospects.ts";
import { lambda } from "./words.ts";

export function cleaned(body: Program, clean: Program): Program {
  return {
    kind: "finally",
    parts: [body, clean],
    play: async (playing) => {
      try {
        return await body.play({ ...playing, at: partAt(playing.at, 0) });
      } finally {
        await clean.play({ ...playing, at: partAt(playing.at, 1) });
      }
    },
    prospects: (judging) => {
      const first = body.prospects({ ...judging, at: partAt(judging.at, 0) });
      const last = clean.prospects({ ...judging, at: partAt(judging.at, 1) });
      const isReached = first.returns !== undefined || first.throws !== undefined;
      return {
        returns: last.returns && first.returns,
        throws: eitherOf([last.returns && first.throws, isReached ? last.throws : undefined]),
        mayHang: first.mayHang || (isReached && last.mayHang),
      };
    },
    inWords: (at) => {
      const [first, last] = [body, clean].map((each, index) => lambda("", each.inWords(partAt(at, index))));
      return `await trying(${first}, { finally: ${last} })`;
    },
  };
}

export const tryFinally: Verb = {
  weight: 1,
  arbitrary: (inner) => fc.tuple(inner, inner).map(([body, clean]) => cleaned(body, clean)),
  orderly: (inner) => fc.tuple(inner, inner).map(([body, clean]) => cleaned(body, clean)),
};
