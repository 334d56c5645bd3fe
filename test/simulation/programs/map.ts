/** `step.map` and `step.mapSettled`, with and without a bound on what runs at a time. */
import fc from "fast-check";
import type { ProgramStep } from "./contract.ts";
import { type Judging, type Program, roundAt, type Verb } from "./part.ts";
import { settledOf, together } from "./prospects.ts";
import { settled } from "./settled.ts";
import { lambda, options, roundIn } from "./words.ts";

export interface MapSpec {
  readonly verb: "map" | "mapSettled";
  readonly count: number;
  readonly maxConcurrency?: number | undefined;
  readonly body: Program;
}

export function mapping({ verb, count, maxConcurrency, body }: MapSpec): Program {
  const parts = Array.from({ length: count }, () => body);
  const bound = maxConcurrency === undefined ? {} : { maxConcurrency };
  const rounds = (judging: Judging) =>
    parts.map((part, round) => part.prospects({ ...judging, at: roundAt(judging.at, round) }));
  return {
    kind: verb,
    parts,
    play: async (playing) => {
      const each = (part: Program, { step, index }: { step: ProgramStep; index: number }) =>
        part.play({ ...playing, step, at: roundAt(playing.at, index) });
      if (verb === "map") return playing.step.map("each", parts, each, bound);
      return (await playing.step.mapSettled("each", parts, each, bound)).map(settled);
    },
    prospects: (judging) => (verb === "map" ? together : settledOf)(rounds(judging)),
    inWords: (at) => {
      const each = lambda(`${roundIn(at)}, { step }`, body.inWords(roundAt(at, roundIn(at))));
      return `await step.${verb}("each", ${JSON.stringify([...parts.keys()])}, ${each}${options(bound)})`;
    },
  };
}

function maps(inner: fc.Arbitrary<Program>): fc.Arbitrary<Program> {
  return fc
    .record({
      verb: fc.constantFrom("map" as const, "mapSettled" as const),
      count: fc.integer({ min: 0, max: 3 }),
      maxConcurrency: fc.constantFrom(undefined, 1, 2),
      body: inner,
    })
    .map(mapping);
}

export const map: Verb = { weight: 3, arbitrary: maps, orderly: maps };
