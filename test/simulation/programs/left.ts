/** A part that is begun and never awaited: it goes on until the run is over. */
import { type Program, partAt, type Verb } from "./part.ts";
import { exactly, returning } from "./prospects.ts";
import { promise } from "./words.ts";

export function leftBehind(body: Program): Program {
  return {
    kind: "left",
    parts: [body],
    play: async (playing) => {
      body.play({ ...playing, at: partAt(playing.at, 0) }).catch(() => {});
      return "left behind";
    },
    prospects: () => returning(exactly("left behind")),
    inWords: (at) => `leave(${promise(body.inWords(partAt(at, 0)))})`,
  };
}

export const left: Verb = { weight: 1, arbitrary: (inner) => inner.map(leftBehind) };
