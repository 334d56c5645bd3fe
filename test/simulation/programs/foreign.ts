/**
 * An await of something that is no step. It is done again at each replay. Its first tries take longer than the second that
 * the engine gives it, so that the run is set back; those after them do not.
 */
import fc from "fast-check";
import type { Program } from "./part.ts";
import { exactly, returning } from "./prospects.ts";

/** A run that was set back is tried four times more. */
const mostSlowTries = 4;
const slowMs = 3_000;
const fastMs = 200;
const came = "came at last";

export function awaiting(slowTries: number): Program {
  return {
    kind: "foreign",
    parts: [],
    play: async ({ runId, at, world }) => {
      const isSlow = world.nextTry(`${runId} ${at}`) <= slowTries;
      await world.foreign(isSlow ? slowMs : fastMs);
      return came;
    },
    prospects: () => returning(exactly(came)),
    inWords: () => `await foreign({ slowTries: ${slowTries} })`,
  };
}

export const foreign: fc.Arbitrary<Program> = fc.integer({ min: 0, max: mostSlowTries }).map(awaiting);
