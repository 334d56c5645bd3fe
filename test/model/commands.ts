/** The random commands: how often each is wished for, and what happens within those that are made of others. */
import fc from "fast-check";
import { budget, by, index, isElsewhere, isLate, seldom, usually } from "./drawing.ts";
import { day, hour, minute, second } from "./settings.ts";
import { claims, finishes, finishItem, shortTurns } from "./turn-commands.ts";
import type { FinishItem } from "./turn-wishes.ts";
import { answers, floods, hands, looks, signals, starts, upgrades } from "./visit-commands.ts";
import type { Wish } from "./wishes.ts";

const holders = usually(4, "standing" as const, "any", "replaced");
const renewals: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("renew" as const),
  items: fc.array(
    fc.record({
      of: holders,
      index,
      beginnings: usually(1, undefined, 1, 2),
      begins: usually(1, undefined, "1 a", "2 a"),
      says: usually(1, undefined, '1"half"', '1"done"'),
    }),
    {
      minLength: 1,
      maxLength: 2,
    },
  ),
  isElsewhere: seldom(6),
  isLate,
});
const returns: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("return" as const),
  items: fc.array(fc.record({ of: holders, index }), { minLength: 1, maxLength: 3 }),
  isElsewhere,
  isLate,
});
const pages: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("page" as const),
  of: holders,
  index,
  after: index,
  budgetBytes: fc.constantFrom(0, 1_000, 3_000),
  isOtherEpoch: seldom(20),
  isElsewhere,
});
const lists: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("list" as const),
  by,
  isElsewhere,
  isNew: seldom(4),
  withinMs: usually(2, 0, 2 * minute),
  readyWithinMs: usually(3, 0, 2 * minute, 10 * minute),
  carries: usually(4, "all" as const, "some"),
  limit: fc.constantFrom(100, 1, 2),
  isNextPage: seldom(3),
});
const moves: fc.Arbitrary<Wish> = fc.record({ kind: fc.constant("move" as const), by, isElsewhere, isLate });
const notes: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("note" as const),
  by: fc.constantFrom("one" as const, "two", "three"),
  name: usually(3, "server", "elsewhere"),
  note: usually(4, "deployed" as const, "seen", "left"),
  carries: usually(3, "all" as const, "some"),
  isElsewhere,
  isLate,
});
const advances: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("advance" as const),
  ms: fc.option(
    fc.constantFrom(1, second, 10 * second, minute, minute + 1, 5 * minute, hour, day, 40 * day, 100 * day),
    {
      nil: undefined,
      freq: 2,
    },
  ),
  offset: fc.constantFrom(0, 1, -1),
});
const others: fc.Arbitrary<Wish> = fc.record({ kind: fc.constantFrom("void" as const, "prune"), isElsewhere });

const meanwhile = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: shortTurns },
    { weight: 2, arbitrary: signals },
    { weight: 2, arbitrary: answers },
    { weight: 1, arbitrary: returns },
    { weight: 1, arbitrary: advances },
    { weight: 1, arbitrary: hands },
    { weight: 1, arbitrary: upgrades },
  ),
  { maxLength: 3, size: "max" },
);
const turns: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("turn" as const),
  index,
  meanwhile,
  finish: finishItem,
});
const plain: fc.Arbitrary<Partial<FinishItem>> = fc.record({
  of: fc.constant("standing" as const),
  isRepeat: seldom(20),
  takes: fc.constant(0),
  asides: fc.constant([]),
  step: usually(9, "success" as const, "failure"),
  next: usually(6, "go on" as const, "complete", "fail"),
  demands: fc.constant([]),
  releases: fc.constant(false),
  closes: fc.constant(undefined),
  chains: fc.boolean(),
});
const batches: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("batch" as const),
  starts: fc.boolean(),
  budgetBytes: budget,
  meanwhile,
  finishes: fc.array(
    fc.tuple(finishItem, fc.option(plain, { freq: 4 })).map(([item, rest]) => ({ ...item, ...rest })),
    { minLength: 1, maxLength: 4 },
  ),
});
const crashes: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("crash" as const),
  index,
  times: fc.integer({ min: 1, max: 9 }),
});
const slowUpgrades: fc.Arbitrary<Wish> = fc.record({ ...looks, meanwhile });
const ticks: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("tick" as const),
  by,
  isAlarmed: usually(3, true, false),
  isElsewhere,
  meanwhile,
});

/** A flood takes its time, so few sequences have one. */
const wish: fc.Arbitrary<Wish> = fc.oneof(
  { weight: 3, arbitrary: starts },
  { weight: 1, arbitrary: fc.oneof({ weight: 9, arbitrary: signals }, { weight: 1, arbitrary: floods }) },
  { weight: 12, arbitrary: turns },
  { weight: 6, arbitrary: batches },
  { weight: 14, arbitrary: claims },
  { weight: 14, arbitrary: finishes },
  { weight: 5, arbitrary: signals },
  { weight: 4, arbitrary: answers },
  { weight: 3, arbitrary: renewals },
  { weight: 3, arbitrary: returns },
  { weight: 2, arbitrary: pages },
  { weight: 2, arbitrary: lists },
  { weight: 2, arbitrary: moves },
  { weight: 8, arbitrary: advances },
  { weight: 2, arbitrary: hands },
  { weight: 3, arbitrary: upgrades },
  { weight: 1, arbitrary: slowUpgrades },
  { weight: 4, arbitrary: ticks },
  { weight: 4, arbitrary: notes },
  { weight: 2, arbitrary: crashes },
  { weight: 2, arbitrary: others },
);

/** A sequence begins with a run, or hardly anything would happen in it. */
export const sequences: fc.Arbitrary<readonly Wish[]> = fc
  .tuple(starts, fc.array(wish, { minLength: 1, maxLength: 50, size: "max" }))
  .map(([first, rest]) => [first, ...rest]);
