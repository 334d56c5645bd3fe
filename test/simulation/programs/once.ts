/** A step that is carried out at most once: its body returns, throws, or kills its process. */
import fc from "fast-check";
import type { StepContext } from "layover";
import { crashed } from "./crashed.ts";
import { markOf, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly, returning, throwing } from "./prospects.ts";
import { like } from "./thrown.ts";
import { failedBy } from "./trouble.ts";
import { options } from "./words.ts";

const ends = ["returns", "throws", "dies"] as const;

export interface OnceSpec {
  readonly ends: (typeof ends)[number];
  /** How long the body takes, in milliseconds. */
  readonly takes?: number;
}

const interrupted = like({ name: "StepError", cause: { name: "LayoverError", code: "interrupted" } });

export function onceOnly({ ends, takes = 0 }: OnceSpec): Program {
  return {
    kind: "once",
    parts: [],
    play: async ({ step, runId, at, world, isCleanup }) => {
      const mark = markOf("once", at);
      const body = async ({ idempotencyKey }: StepContext) => {
        world.onBody(runId, idempotencyKey, isCleanup);
        world.onBodyOfOnce?.(runId, idempotencyKey);
        if (takes > 0) await world.foreign(takes);
        if (ends === "throws") throw new Error(mark);
        return ends === "dies" ? world.die() : mark;
      };
      return await step.run("once", body, { semantics: "at-most-once" });
    },
    prospects: ({ at, facts }) => {
      const mark = markOf("once", at);
      const lost = eitherOf([interrupted, crashed(facts.beginnings ?? 0)]);
      if (ends === "returns") return { ...returning(exactly(mark)), throws: lost };
      return ends === "dies"
        ? { ...throwing(interrupted), throws: lost }
        : throwing(eitherOf([failedBy("throws", 1, mark), lost]) ?? interrupted);
    },
    inWords: (at) =>
      `await step.run("once", ${ends}("${markOf("once", at)}")${options({ semantics: "at-most-once", takes: takes || undefined })})`,
  };
}

export const once: Verb = {
  weight: 2,
  arbitrary: () =>
    fc
      .record({
        ends: fc.constantFrom<OnceSpec["ends"][]>("returns", "returns", ...ends),
        takes: fc.constantFrom(0, 0, 200, 3_000),
      })
      .map(onceOnly),
};
