/** The random commands: how often each is wished for, and in what variations. */
import fc from "fast-check";
import type { By, DemandWish, FinishItem, Wish } from "./wishes.ts";
import { day, hour, minute, second } from "./world.ts";

const index = fc.nat(9);
const run = fc.nat(2);

/** True once in so many times. */
function seldom(times: number): fc.Arbitrary<boolean> {
  return fc.nat(times - 1).map((n) => n === times - 1);
}

/** The first choice is the usual one. */
function usually<const T>(times: number, usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.nat(times + others.length - 1).map((n) => others[n - times] ?? usual);
}

function optional<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(value, { nil: undefined });
}

const deadline = optional(fc.constantFrom(0, second, 40 * second, 5 * minute, hour, 3 * day));
const signalName = fc.constantFrom("red", "blue");

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

const by: fc.Arbitrary<By> = usually(3, undefined, "one", "two", "three");

const finishItem: fc.Arbitrary<FinishItem> = fc.record({
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
  owes: usually(1, undefined, "closing" as const, "ending"),
  closes: fc.option(fc.constantFrom("red" as const, "blue" as const), { nil: undefined, freq: 8 }),
  says: seldom(4),
  announces: seldom(4),
});

const isElsewhere = seldom(25);
const isLate = seldom(25);

const starts: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("start" as const),
  run,
  userId: usually(1, undefined, "u1", "u2"),
  input: usually(3, "x", "y"),
  isCarried: usually(6, true, false),
  delayMs: usually(3, 0, 5 * second, 10 * minute),
  timeoutMs: usually(2, undefined, 20 * minute, 2 * day),
  signal: fc.option(fc.record({ name: signalName, dedupeId: usually(4, undefined, "d"), isRepeat: seldom(8) }), {
    nil: undefined,
    freq: 2,
  }),
  isAhead: seldom(30),
  isElsewhere: seldom(6),
  isBare: seldom(5),
  isLate,
});
const budget = usually(5, undefined, 0, 1_000, 3_000);
const claims: fc.Arbitrary<Wish> = fc.record({
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
const finishes: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("finish" as const),
  items: fc.array(finishItem, { minLength: 1, maxLength: 3 }),
  isElsewhere,
  isLate,
});
const shortTurns: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("turn" as const),
  index,
  meanwhile: fc.constant([]),
  finish: finishItem,
});
const signals: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("signal" as const),
  run,
  isAwaited: fc.boolean(),
  name: signalName,
  dedupeId: usually(4, undefined, "d"),
  isRepeat: seldom(8),
  byUserId: seldom(5),
  isElsewhere,
  isBare: seldom(6),
  isLate,
});
const floods: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("flood" as const),
  run,
  ofWhat: fc.constantFrom("signals" as const, "bytes"),
  room: fc.constantFrom(0 as const, 1),
});
const answers: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("answer" as const),
  run,
  which: usually(4, "waiting" as const, "next", "answered"),
  index,
  outcome: usually(3, "resolved" as const, "rejected"),
  value: usually(3, "yes", "no"),
  isOtherEpoch: seldom(20),
  isElsewhere,
  isLate,
});
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
const hands: fc.Arbitrary<Wish> = fc.oneof(
  fc.record({
    kind: fc.constant("operate" as const),
    verb: usually(2, "pause" as const, "resume", "resume", "cancel", "cancel", "terminate", "delete"),
    isOfMany: seldom(3),
    ofWorkflow: usually(2, "no" as const, "alone", "runs", "both", "both"),
    run,
    isFitting: usually(3, true, false),
    isRepeat: seldom(6),
    isElsewhere: seldom(20),
    isLate: seldom(10),
  }),
);
const looks = {
  kind: fc.constant("upgrade" as const),
  run,
  isFitting: usually(4, true, false),
  to: usually(2, 2, 1),
  sawOther: usually(20, undefined, "from", "epoch", "turn", "position", "lastMail"),
  isRepeat: seldom(8),
  isElsewhere: seldom(25),
  isBare: seldom(6),
  isLate: seldom(15),
};
const upgrades: fc.Arbitrary<Wish> = fc.record({ ...looks, meanwhile: fc.constant([]) });
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
