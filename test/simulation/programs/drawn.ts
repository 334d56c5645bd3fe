/** `step.uuid`, `step.random` and `step.now`. */
import fc from "fast-check";
import type { Program, Verb } from "./part.ts";
import { type Match, returning } from "./prospects.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const draws = {
  uuid: (value) => typeof value === "string" && uuid.test(value),
  random: (value) => typeof value === "number" && value >= 0 && value < 1,
  now: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
} satisfies Record<string, Match<unknown>>;

export function drawing(verb: keyof typeof draws): Program {
  return {
    kind: verb,
    parts: [],
    play: async ({ step }) => step[verb](),
    prospects: () => returning(draws[verb]),
    inWords: () => `step.${verb}()`,
  };
}

export const drawn: Verb = {
  weight: 1,
  arbitrary: () => fc.constantFrom("uuid" as const, "random" as const, "now" as const).map(drawing),
};
