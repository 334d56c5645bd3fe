/** `step.scope`: a room of its own for names. */
import { type Program, partAt, type Verb } from "./part.ts";
import { lambda } from "./words.ts";

export function inRoom(body: Program): Program {
  return {
    kind: "scope",
    parts: [body],
    play: (playing) =>
      playing.step.scope("room", ({ step }) => body.play({ ...playing, step, at: partAt(playing.at, 0) })),
    prospects: (judging) => body.prospects({ ...judging, at: partAt(judging.at, 0) }),
    inWords: (at) => `await step.scope("room", ${lambda("{ step }", body.inWords(partAt(at, 0)))})`,
  };
}

export const scope: Verb = {
  weight: 1,
  arbitrary: (inner) => inner.map(inRoom),
  orderly: (inner) => inner.map(inRoom),
};
