/** `step.map` and `step.mapSettled`, with and without a bound on what runs at a time. */
import fc from "fast-check";
import type { ProgramStep } from "./contract.ts";
import { type Judging, type Program, roundAt, type Verb } from "./part.ts";
import { settledOf, together } from "./prospects.ts";
import { raceOf } from "./race.ts";
import { settled } from "./settled.ts";
import { block, lambda, options, roundIn } from "./words.ts";

export interface MapSpec {
  readonly verb: "map" | "mapSettled";
  readonly maxConcurrency?: number | undefined;
  /** Whether its items have keys. Otherwise they are told apart by their index. */
  readonly isKeyed?: boolean;
  /** What is done for each item. */
  readonly parts: readonly Program[];
}

export function mapping({ verb, maxConcurrency, isKeyed, parts }: MapSpec): Program {
  const bound = maxConcurrency === undefined ? {} : { maxConcurrency };
  const keys = isKeyed ? { key: (_: Program, index: number) => `item ${index}` } : {};
  const terms = options({ ...bound, key: isKeyed ? "by index" : undefined });
  const rounds = (judging: Judging) =>
    parts.map((part, round) => part.prospects({ ...judging, at: roundAt(judging.at, round) }));
  return {
    kind: verb,
    parts,
    play: async (playing) => {
      const each = (part: Program, { step, index }: { step: ProgramStep; index: number }) =>
        part.play({ ...playing, step, at: roundAt(playing.at, index) });
      if (verb === "map") return playing.step.map("each", parts, each, { ...bound, ...keys });
      return (await playing.step.mapSettled("each", parts, each, { ...bound, ...keys })).map(settled);
    },
    prospects: (judging) => (verb === "map" ? together : settledOf)(rounds(judging)),
    inWords: (at) => {
      const [first] = parts;
      if (first !== undefined && new Set(parts).size > 1) {
        const items = parts.map((part, round) => lambda("{ step }", part.inWords(roundAt(at, round))));
        return block(`await step.${verb}("each", [`, items, `], (item, { step }) => item({ step })${terms})`);
      }
      const each = lambda(`${roundIn(at)}, { step }`, first?.inWords(roundAt(at, roundIn(at))) ?? "undefined");
      return `await step.${verb}("each", ${JSON.stringify([...parts.keys()])}, ${each}${terms})`;
    },
  };
}

function maps(items: (inner: fc.Arbitrary<Program>) => fc.Arbitrary<readonly Program[]>): Verb["arbitrary"] {
  return (inner) =>
    fc
      .record({
        verb: fc.constantFrom("map" as const, "mapSettled" as const),
        maxConcurrency: fc.constantFrom(undefined, 1, 2),
        isKeyed: fc.constantFrom(false, false, true),
        parts: items(inner),
      })
      .map(mapping);
}

/** Makes one body and repeats it for all items. */
function alike(inner: fc.Arbitrary<Program>): fc.Arbitrary<readonly Program[]> {
  return fc
    .record({ count: fc.integer({ min: 0, max: 3 }), body: inner })
    .map(({ count, body }) => Array.from({ length: count }, () => body));
}

/** Makes another body for each item, so that one goes on while another waits. */
function unlike(inner: fc.Arbitrary<Program>): fc.Arbitrary<readonly Program[]> {
  return fc.array(inner, { minLength: 2, maxLength: 3, size: "max" });
}

/**
 * Makes bodies some of which are races. What loses a race leaves the map that the race is in, beside items that are
 * under way or wait for their slot.
 */
function races(inner: fc.Arbitrary<Program>): fc.Arbitrary<readonly Program[]> {
  const race = fc.array(inner, { minLength: 2, maxLength: 2 }).map(raceOf);
  return unlike(fc.oneof(race, inner));
}

export const map: Verb = {
  weight: 3,
  arbitrary: (inner) => fc.oneof(maps(alike)(inner), maps(unlike)(inner), maps(races)(inner)),
  orderly: (inner) => fc.oneof(maps(alike)(inner), maps(unlike)(inner)),
};
