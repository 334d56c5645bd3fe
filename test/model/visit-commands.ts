/** The random commands of people and their programs: starts, signals, answers, operations, upgrades. */
import fc from "fast-check";
import { index, isElsewhere, isLate, run, seldom, signalName, usually } from "./drawing.ts";
import { day, minute, second } from "./settings.ts";
import type { Wish } from "./wishes.ts";

export const starts: fc.Arbitrary<Wish> = fc.record({
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
export const signals: fc.Arbitrary<Wish> = fc.record({
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
export const floods: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constant("flood" as const),
  run,
  ofWhat: fc.constantFrom("signals" as const, "bytes"),
  room: fc.constantFrom(0 as const, 1),
});
export const answers: fc.Arbitrary<Wish> = fc.record({
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
export const hands: fc.Arbitrary<Wish> = fc.oneof(
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
export const looks = {
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
export const upgrades: fc.Arbitrary<Wish> = fc.record({ ...looks, meanwhile: fc.constant([]) });
