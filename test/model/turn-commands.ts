/** The random claims and finishes, in all their variations. */
import fc from "fast-check";
import { budget, by, deadline, index, isElsewhere, isLate, seldom, signalName, usually } from "./drawing.ts";
import { day, hour, minute, second } from "./settings.ts";
import type { DemandWish, FinishItem } from "./turn-wishes.ts";
import type { Wish } from "./wishes.ts";

const demand: fc.Arbitrary<DemandWish> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ what: "branch" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant("sleep" as const), ms: fc.constantFrom(0, second, 5 * minute, day) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("cleanup" as const),
      ms: fc.constantFrom(undefined, undefined, second, 5 * minute),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("signal" as const), name: signalName, ms: deadline }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("callback" as const), ms: deadline }) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("map" as const),
      items: fc.integer({ min: 1, max: 4 }),
      slots: fc.constantFrom(null, 1, 2),
      failsFast: fc.boolean(),
      isOfRaces: seldom(3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("more of a map" as const), index }) },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant("race" as const),
      branches: fc.integer({ min: 1, max: 2 }),
      ms: deadline,
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("again" as const), index }) },
);

export const finishItem: fc.Arbitrary<FinishItem> = fc.record({
  of: usually(9, "standing" as const, "any"),
  index,
  isRepeat: seldom(10),
  takes: fc.constantFrom(3, 1, 0),
  asides: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.constantFrom("sleep" as const, "red", "blue", "callback", "late callback"), {
        minLength: 1,
        maxLength: 2,
      }),
    },
  ),
  step: usually(3, "success" as const, "failure", "retry soon", "retry late"),
  retryMs: fc.constantFrom(0, second, 10 * second, 10 * second + 1, hour),
  next: usually(9, "park" as const, "go on", "go on", "complete", "fail", "block", "block", "set back"),
  by: usually(1, undefined, "one" as const, "two", "three"),
  demands: fc.array(demand, { maxLength: 3, size: "max" }),
  isEarly: fc.boolean(),
  releases: fc.boolean(),
  sawLess: seldom(30),
  chains: seldom(4),
  isSpoilt: seldom(40),
  owes: usually(1, undefined, "closing" as const, "ending", "cleaning"),
  closes: fc.option(fc.constantFrom("red" as const, "blue" as const), { nil: undefined, freq: 8 }),
  says: seldom(4),
  announces: seldom(4),
});
export const claims: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("claim" as const),
  by,
  items: fc.array(
    fc.record({
      of: usually(4, "claimable" as const, "run", "branch", "branch"),
      index,
      turn: usually(8, "right" as const, "stale", "future"),
      alone: usually(6, "as needed" as const, "always", "never", "sixteen"),
      token: usually(5, "fresh" as const, "again"),
      have: usually(
        3,
        "nothing" as const,
        "all",
        "a part",
        "more than there is",
        "another epoch",
        "all, told",
        "another version",
      ),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  isElsewhere,
  carries: usually(12, "all" as const, "some", "nothing"),
  environment: usually(20, "ours" as const, "another"),
  begins: usually(4, true, false),
  budgetBytes: budget,
  isLate,
});
export const finishes: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("finish" as const),
  items: fc.array(finishItem, { minLength: 1, maxLength: 3 }),
  isElsewhere,
  isLate,
});
export const shortTurns: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("turn" as const),
  index,
  meanwhile: fc.constant([]),
  finish: finishItem,
});
