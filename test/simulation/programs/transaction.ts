/** `step.transaction`: it writes down its own key in a table outside, at once or after attempts that throw, or fails for good. */

import fc from "fast-check";
import { NonRetryableError } from "layover";
import { crashed } from "./crashed.ts";
import { markOf, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly, returning, throwing } from "./prospects.ts";
import { failedBy } from "./trouble.ts";
import { options } from "./words.ts";

export interface BookingSpec {
  /** How many of the first attempts throw. */
  readonly throws?: number;
  /** Whether the first attempt says that no other one will do better. */
  readonly refuses?: boolean;
  /** How long the body takes before it writes, in milliseconds. */
  readonly takes?: number;
}

/** The name of every such step, by which the rules tell its records. */
export const booked = "book";
/** So many that no trouble of a world uses them up. */
const maxAttempts = 60;
const write = "insert into layover_test.booking (run_id, key) values ($1, $2)";

export function booking({ throws = 0, refuses = false, takes = 0 }: BookingSpec): Program {
  const saying = (attempt: number, mark: string) => `attempt ${attempt} of ${mark}`;
  return {
    kind: "transaction",
    parts: [],
    play: async ({ step, runId, at, world, isCleanup }) => {
      const mark = markOf(booked, at);
      return await step.transaction(
        booked,
        async (db, { attempt, idempotencyKey }) => {
          world.onBody(runId, idempotencyKey, isCleanup);
          db.write(write, [runId, idempotencyKey]);
          if (takes > 0) await world.foreign(takes);
          if (refuses) throw new NonRetryableError(saying(attempt, mark));
          if (attempt <= throws) throw new Error(saying(attempt, mark));
          return mark;
        },
        { retry: { maxAttempts, delay: 500, maxDelay: 1_000, jitter: false } },
      );
    },
    prospects: ({ at, facts }) => {
      const mark = markOf(booked, at);
      const calm = refuses ? throwing(failedBy("refuses", 1, saying(1, mark))) : returning(exactly(mark));
      return { ...calm, throws: eitherOf([calm.throws, crashed(facts.beginnings ?? 0)]) };
    },
    inWords: (at) =>
      `await step.transaction("${booked}", writes("${markOf(booked, at)}")${options({ throws: throws || undefined, refuses: refuses || undefined, takes: takes || undefined })})`,
  };
}

export const transaction: Verb = {
  weight: 2,
  arbitrary: () =>
    fc
      .record({
        throws: fc.constantFrom(0, 0, 0, 1, 2),
        refuses: fc.constantFrom(false, false, false, false, true),
        takes: fc.constantFrom(0, 0, 200, 3_000),
      })
      .map(booking),
};
