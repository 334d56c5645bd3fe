/** `step.continueAsNew`: the whole program again, in a history of its own, until a drawn number says that it is enough. */
import type fc from "fast-check";
import { type Program, partAt } from "./part.ts";
import { block } from "./words.ts";

/** It stands around all else, since the handler ends where it continues as new. `body` waits for no signal. */
export function inLaps(body: Program): Program {
  return {
    kind: "laps",
    parts: [body],
    play: async (playing) => {
      const { step, at } = playing;
      const result = await body.play({ ...playing, at: partAt(at, 0) });
      if (step.random() < 0.5) await step.continueAsNew();
      return result;
    },
    // Each lap may throw or wait for ever. The last one's result is that of the run.
    prospects: (judging) => body.prospects({ ...judging, at: partAt(judging.at, 0) }),
    inWords: (at) => block("await inLaps(", [body.inWords(partAt(at, 0))], ", { while: step.random() < 0.5 })"),
  };
}

/** `inner`: programs whose result hangs on nothing but themselves, so that each lap may have it. */
export function laps(inner: fc.Arbitrary<Program>): fc.Arbitrary<Program> {
  return inner.map(inLaps);
}
