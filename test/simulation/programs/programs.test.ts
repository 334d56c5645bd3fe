/** The right answers of programs: told from wrong ones, without any engine. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allOf } from "./all.ts";
import { answered, type CallbackSpec } from "./callback.ts";
import { caught } from "./caught.ts";
import { inCleanup } from "./cleanup.ts";
import { draining } from "./close.ts";
import { drawing } from "./drawn.ts";
import { leaving } from "./early.ts";
import { choosing } from "./either.ts";
import { failing } from "./fail.ts";
import { cleaned } from "./finally.ts";
import { awaiting } from "./foreign.ts";
import { inLaps } from "./laps.ts";
import { leftBehind } from "./left.ts";
import { looping } from "./loop.ts";
import { mapping } from "./map.ts";
import { onceOnly } from "./once.ts";
import { changed } from "./patched.ts";
import { plainly } from "./plain.ts";
import { poisonous } from "./poison.ts";
import { allows, any, type Facts, inWords, mayWait, type Program, partsOf } from "./program.ts";
import { raceOf } from "./race.ts";
import { saying } from "./say.ts";
import { inRoom } from "./scope.ts";
import { sequenceOf } from "./sequence.ts";
import { signalled } from "./signal.ts";
import { sleeping } from "./sleep.ts";
import { aStep } from "./step.ts";
import { booking } from "./transaction.ts";

const a = aStep({ name: "a" });
const b = aStep({ name: "b" });
const broken = aStep({ name: "c", tries: ["throws", "throws"], maxAttempts: 2 });

const quiet: Facts = { signals: [], answered: [] };

function returns(program: Program, value: unknown, facts: Partial<Facts> = {}): boolean {
  return allows(program, { kind: "returned", value }, { ...quiet, ...facts });
}

function throws(program: Program, error: unknown, facts: Partial<Facts> = {}): boolean {
  return allows(program, { kind: "threw", error }, { ...quiet, ...facts });
}

function stepError({ attempts = 2, says = "attempt 2 of c@", name = "Error", code }: Record<string, unknown> = {}) {
  const message = `step "c" failed after ${attempts} attempts`;
  return { name: "StepError", message, data: { step: "c", attempts }, cause: { name, message: says, code } };
}

describe("a step", () => {
  test("returns its own result and no other", () => {
    expect(returns(a, "a@")).toBe(true);
    expect(returns(a, "b@")).toBe(false);
    expect(returns(a, undefined)).toBe(false);
    expect(throws(a, stepError())).toBe(false);
  });

  test("that is tried again often enough returns", () => {
    const shaky = aStep({ name: "c", tries: ["throws", "hangs", "asks for time"], maxAttempts: 4 });
    expect(returns(shaky, "c@")).toBe(true);
    expect(throws(shaky, stepError())).toBe(false);
  });

  test("that fails for good throws its last attempt's error, after as many attempts as it has", () => {
    expect(throws(broken, stepError())).toBe(true);
    expect(throws(broken, stepError({ attempts: 1 }))).toBe(false);
    expect(throws(broken, stepError({ says: "attempt 1 of c@" }))).toBe(false);
    expect(throws(broken, stepError({ name: "TypeError" }))).toBe(false);
    expect(returns(broken, "c@")).toBe(false);
  });

  test.each([
    ["refuses", "NonRetryableError", 1],
    ["is unstorable", "LayoverError", 1],
    ["hangs", "TimeoutError", 2],
    ["is late", "TimeoutError", 2],
    ["asks for time", "RetryAfterError", 2],
  ] as const)("that %s fails with a %s, at attempt %i of 2", (trouble, name, attempts) => {
    const program = aStep({ name: "c", tries: [trouble, trouble], maxAttempts: 2 });
    const end = { name, attempts, says: `attempt ${attempts} of c@`, code: "unstorable_value" };
    expect(throws(program, stepError(end))).toBe(true);
    expect(throws(program, stepError({ ...end, attempts: 3 - attempts }))).toBe(false);
    expect(throws(program, stepError({ ...end, name: "Error" }))).toBe(false);
    expect(throws(program, stepError({ ...end, code: "too_deep" }))).toBe(trouble !== "is unstorable");
  });

  test("may fail as crashed after five beginnings, not after four", () => {
    const crash = stepError({ name: "LayoverError", code: "step_crashed", attempts: 1 });
    expect(throws(a, crash, { beginnings: 4 })).toBe(false);
    expect(throws(a, crash, { beginnings: 5 })).toBe(true);
    expect(returns(a, "a@", { beginnings: 5 })).toBe(true);
  });

  test("that kills its process always fails as crashed, and one that does so twice returns", () => {
    const crash = stepError({ name: "LayoverError", code: "step_crashed", attempts: 1 });
    const [always, twice] = [poisonous("c", Number.POSITIVE_INFINITY), poisonous("c", 2)];
    expect(throws(always, crash)).toBe(true);
    expect(returns(always, "c@")).toBe(false);
    expect(returns(twice, "c@")).toBe(true);
    expect(throws(twice, crash)).toBe(false);
    expect(throws(twice, crash, { beginnings: 5 })).toBe(true);
  });
});

test("a transaction returns its own result, also after attempts that throw, unless its first one refuses", () => {
  expect(returns(booking({ throws: 2 }), "book@")).toBe(true);
  expect(returns(booking({}), "a@")).toBe(false);
  expect(returns(booking({ refuses: true }), "book@")).toBe(false);
  const refused = {
    name: "StepError",
    message: 'step "book" failed after 1 attempts',
    data: { step: "book", attempts: 1 },
  };
  const cause = { name: "NonRetryableError", message: "attempt 1 of book@" };
  expect(throws(booking({ refuses: true }), { ...refused, cause })).toBe(true);
  expect(throws(booking({}), { ...refused, cause })).toBe(false);
});

test("laps return what the last one returns", () => {
  expect(returns(inLaps(a), "a@0")).toBe(true);
  expect(returns(inLaps(a), "b@0")).toBe(false);
  expect(throws(inLaps(broken), stepError({ says: "attempt 2 of c@0" }))).toBe(true);
});

describe("a wait", () => {
  const signals = [
    { name: "red", payload: 1 },
    { name: "blue", payload: 2 },
  ];
  const red = signalled("red");
  const patient = { timeout: 60_000, onTimeout: "null" } as const;

  test("for a signal takes what was sent under its name", () => {
    expect(returns(red, { signal: "red", payload: 1 }, { signals })).toBe(true);
    expect(returns(red, { signal: "red", payload: 2 }, { signals })).toBe(false);
    expect(returns(red, { signal: "blue", payload: 2 }, { signals })).toBe(false);
    expect(returns(red, { signal: "red", payload: 1 })).toBe(false);
  });

  test("for a signal times out only if it has a timeout, and says so as it was asked to", () => {
    const late = { name: "TimeoutError", message: 'the signal "red" did not arrive within 60s' };
    expect(returns(signalled("red", patient), "waited in vain")).toBe(true);
    expect(throws(signalled("red", patient), late)).toBe(false);
    expect(throws(signalled("red", { timeout: 60_000 }), late)).toBe(true);
    expect(returns(signalled("red", { timeout: 60_000 }), "waited in vain")).toBe(false);
    expect(returns(red, "waited in vain")).toBe(false);
    expect(throws(red, late)).toBe(false);
    expect(throws(signalled("blue", { timeout: 60_000 }), late)).toBe(false);
  });

  test("takes no signal that another one took", () => {
    const one = { signal: "red", payload: 1 };
    const two = sequenceOf([signalled("red", patient), signalled("red", patient)]);
    expect(returns(two, [one, "waited in vain"], { signals })).toBe(true);
    expect(returns(two, [one, one], { signals })).toBe(false);
    expect(returns(two, [one, one], { signals: [...signals, { name: "red", payload: 1 }] })).toBe(true);
  });

  test("that drains a name returns signals of that name, and nobody waits for one after it", () => {
    const one = { signal: "red", payload: 1 };
    expect(returns(draining("red"), { drained: [] }, { signals })).toBe(true);
    expect(returns(draining("red"), { drained: [one] }, { signals })).toBe(true);
    expect(returns(draining("red"), { drained: [one, one] }, { signals })).toBe(false);
    expect(returns(draining("red"), { drained: [one] })).toBe(false);
    expect(returns(draining("red"), { drained: [{ signal: "blue", payload: 2 }] }, { signals })).toBe(false);
    const closed = { name: "LayoverError", message: 'the signal "red" is closed', code: "invalid_request" };
    expect(throws(sequenceOf([draining("red"), red]), closed)).toBe(true);
    expect(throws(sequenceOf([draining("blue"), red]), closed)).toBe(false);
    expect(mayWait(allOf([draining("red"), red]), { ...quiet, signals })).toBe(true);
    expect(mayWait(allOf([draining("blue"), red]), { ...quiet, signals })).toBe(false);
  });

  test("for something that is no step returns it in the end", () => {
    expect(returns(awaiting(4), "came at last")).toBe(true);
    expect(returns(awaiting(4), undefined)).toBe(false);
    expect(mayWait(awaiting(4), quiet)).toBe(false);
  });

  test("that stands at the end is one for a signal that was not sent", () => {
    expect(mayWait(red, quiet)).toBe(true);
    expect(mayWait(red, { ...quiet, signals })).toBe(false);
    expect(mayWait(signalled("red", patient), quiet)).toBe(false);
    expect(mayWait(sequenceOf([red, a, red]), { ...quiet, signals })).toBe(true);
    expect(mayWait(raceOf([red, a]), quiet)).toBe(false);
    expect(mayWait(allOf([red, a]), quiet)).toBe(true);
    expect(mayWait(allOf([red, broken]), quiet)).toBe(false);
    expect(mayWait(plainly("any", [red, a]), quiet)).toBe(false);
    expect(mayWait(plainly("any", [red, broken]), quiet)).toBe(true);
    expect(mayWait(sequenceOf([broken, red]), quiet)).toBe(false);
    expect(mayWait(sequenceOf([leftBehind(red), a]), quiet)).toBe(false);
  });

  describe("for a callback", () => {
    const plan: CallbackSpec = { answer: "resolve", afterMs: 0, twice: false, isOwn: false };
    const timed = answered({ ...plan, ...patient });
    const approval = { approval: "approval@" };
    const reply = (isAccepted: boolean) => ({ answered: [{ value: "approval@", isAccepted }] });

    test("returns its answer and no other", () => {
      expect(returns(answered(plan), approval)).toBe(true);
      expect(returns(answered(plan), { approval: "approval@1" })).toBe(false);
      expect(returns(answered(plan), { approval: "not approval@" })).toBe(false);
      expect(returns(answered(plan), "waited in vain")).toBe(false);
    });

    test("throws its rejection", () => {
      const no = { name: "CallbackRejectedError", message: 'the callback "approval" was rejected: approval@' };
      expect(throws(answered({ ...plan, answer: "reject" }), no)).toBe(true);
      expect(returns(answered({ ...plan, answer: "reject" }), approval)).toBe(false);
      expect(throws(answered(plan), no)).toBe(false);
    });

    test("never gives up on an answer that was accepted, nor takes one that was refused", () => {
      expect(returns(timed, approval, reply(true))).toBe(true);
      expect(returns(timed, "waited in vain", reply(true))).toBe(false);
      expect(returns(timed, "waited in vain", reply(false))).toBe(true);
      expect(returns(timed, approval, reply(false))).toBe(false);
      expect(returns(timed, approval)).toBe(true);
      expect(returns(timed, "waited in vain")).toBe(true);
    });

    test("that nobody answers gives up", () => {
      const silent = answered({ ...plan, ...patient, answer: "never" });
      expect(returns(silent, "waited in vain")).toBe(true);
      expect(returns(silent, approval)).toBe(false);
      expect(mayWait(silent, quiet)).toBe(false);
    });
  });
});

describe("parts", () => {
  test("in turn return their results in order, and end at the first that throws", () => {
    expect(returns(sequenceOf([a, b]), ["a@0", "b@1"])).toBe(true);
    expect(returns(sequenceOf([a, b]), ["b@1", "a@0"])).toBe(false);
    expect(returns(sequenceOf([a, b]), ["a@0"])).toBe(false);
    expect(returns(sequenceOf([a, broken]), ["a@0"])).toBe(false);
    expect(throws(sequenceOf([a, broken, failing("TypeError")]), stepError({ says: "attempt 2 of c@1" }))).toBe(true);
    expect(throws(sequenceOf([broken, failing("TypeError")]), { name: "TypeError", message: "thrown@1" })).toBe(false);
  });

  test.each([
    ["step.all", allOf],
    ["Promise.all", (parts: Program[]) => plainly("all", parts)],
  ])("in %s return all results, each in its place, or throw what any of them throws", (_, all) => {
    expect(returns(all([a, b, a]), ["a@0", "b@1", "a@2"])).toBe(true);
    expect(returns(all([a, b, a]), ["a@2", "b@1", "a@0"])).toBe(false);
    expect(returns(all([a, broken]), ["a@0", "c@1"])).toBe(false);
    expect(returns(all([a, broken]), ["a@0"])).toBe(false);
    expect(throws(all([a, broken, failing("Error")]), stepError({ says: "attempt 2 of c@1" }))).toBe(true);
    expect(throws(all([a, broken, failing("Error")]), { name: "Error", message: "thrown@2" })).toBe(true);
    expect(throws(all([a, b]), { name: "Error", message: "thrown@1" })).toBe(false);
  });

  test.each([
    ["step.race", raceOf],
    ["Promise.race", (parts: Program[]) => plainly("race", parts)],
  ])("in %s give what one of them gives, as a branch of its own", (_, race) => {
    expect(returns(race([a, b]), "a@0")).toBe(true);
    expect(returns(race([a, b]), "b@1")).toBe(true);
    expect(returns(race([a, b]), "b@0")).toBe(false);
    expect(returns(race([a, b]), ["a@0"])).toBe(false);
    expect(throws(race([a, failing("Error")]), { name: "Error", message: "thrown@1" })).toBe(true);
    expect(returns(race([signalled("red"), a]), { signal: "red", payload: 1 })).toBe(false);
  });

  test("in Promise.any fail together or not at all", () => {
    const aggregate = { name: "AggregateError", message: "", data: { errors: [stepError(), stepError()] } };
    expect(throws(plainly("any", [broken, broken]), aggregate)).toBe(true);
    expect(throws(plainly("any", [broken, broken, broken]), aggregate)).toBe(false);
    expect(throws(plainly("any", [broken, broken]), stepError({ says: "attempt 2 of c@0" }))).toBe(false);
    expect(throws(plainly("any", [a, broken]), aggregate)).toBe(false);
    expect(returns(plainly("any", [broken, a]), "a@1")).toBe(true);
  });

  test("in Promise.allSettled tell of each how it ended", () => {
    const cause = { name: "Error", message: "attempt 2 of c@1" };
    const failed = { name: "StepError", message: "", attempts: 2, cause };
    const settled = plainly("allSettled", [a, broken]);
    expect(returns(settled, [{ ok: "a@0" }, { failed }])).toBe(true);
    expect(returns(settled, [{ failed }, { ok: "a@0" }])).toBe(false);
    expect(returns(settled, [{ ok: "a@0" }, { ok: "c@1" }])).toBe(false);
    expect(returns(settled, [{ ok: "a@0" }, { failed: { ...failed, attempts: 1 } }])).toBe(false);
  });

  test("of a map return in the order of its items", () => {
    const map = mapping({ verb: "map", parts: [a, a] });
    expect(returns(map, ["a@[0]", "a@[1]"])).toBe(true);
    expect(returns(map, ["a@[1]", "a@[0]"])).toBe(false);
    expect(returns(map, ["a@[0]"])).toBe(false);
    expect(returns(mapping({ verb: "map", parts: [a, b] }), ["a@[0]", "b@[1]"])).toBe(true);
    const settled = mapping({ verb: "mapSettled", parts: [a], maxConcurrency: 1 });
    expect(returns(settled, [{ ok: "a@[0]" }])).toBe(true);
    expect(returns(settled, ["a@[0]"])).toBe(false);
  });

  test("that throw are caught, and cleaned up after", () => {
    const thrown = { name: "TypeError", message: "thrown@0" };
    expect(returns(caught(failing("TypeError")), { caught: thrown })).toBe(true);
    expect(returns(caught(failing("TypeError")), { caught: { ...thrown, name: "Error" } })).toBe(false);
    expect(throws(caught(failing("TypeError")), thrown)).toBe(false);
    expect(returns(caught(a), { caught: thrown })).toBe(false);
    expect(throws(cleaned(failing("TypeError"), a), thrown)).toBe(true);
    expect(throws(cleaned(failing("TypeError"), broken), thrown)).toBe(false);
    expect(throws(cleaned(a, broken), stepError({ says: "attempt 2 of c@1" }))).toBe(true);
    expect(returns(cleaned(a, broken), "a@0")).toBe(false);
  });

  test("that a drawn number decides on are done or not, never by halves", () => {
    expect(returns(choosing(a, b), "a@0")).toBe(true);
    expect(returns(choosing(a, b), "b@1")).toBe(true);
    expect(returns(choosing(a, b), "a@1")).toBe(false);
    expect(returns(leaving([a, b]), ["a@0"])).toBe(true);
    expect(returns(leaving([a, b]), ["a@0", "b@1"])).toBe(true);
    expect(returns(leaving([a, b]), [])).toBe(false);
    expect(returns(leaving([a, b]), ["b@1"])).toBe(false);
    expect(returns(looping(a, 2), ["a@[0]", "a@[1]"])).toBe(true);
    expect(returns(looping(a, 2), ["a@[0]", "a@[1]", "a@[2]"])).toBe(false);
  });

  test("in a scope are what they are outside", () => {
    expect(returns(inRoom(a), "a@0")).toBe(true);
    expect(returns(inRoom(a), "a@")).toBe(false);
  });

  test("in a cleanup are what they are outside, and count only where they fail", () => {
    expect(returns(inCleanup(a), "a@0")).toBe(true);
    expect(returns(inCleanup(a), "a@")).toBe(false);
    expect(returns(cleaned(a, inCleanup(sleeping("c", 1_000))), "a@0")).toBe(true);
    expect(throws(cleaned(a, inCleanup(broken)), stepError({ says: "attempt 2 of c@1.0" }))).toBe(true);
    expect(returns(cleaned(a, inCleanup(broken)), "a@0")).toBe(false);
  });

  test("that only look at the clock or draw a number return one", () => {
    expect(returns(sleeping("a", 1_000), "slept in full")).toBe(true);
    expect(returns(sleeping("a", 1_000), "slept 999 ms, and got undefined")).toBe(false);
    expect(returns(drawing("random"), 0.5)).toBe(true);
    expect(returns(drawing("random"), 1)).toBe(false);
    expect(returns(drawing("uuid"), "a")).toBe(false);
    expect(returns(drawing("now"), new Date(0))).toBe(true);
    expect(returns(drawing("now"), new Date(Number.NaN))).toBe(false);
  });
});

const kinds = [
  ...[
    "step",
    "undo",
    "sleep",
    "sleepUntil",
    "signal",
    "close",
    "foreign",
    "callback",
    "poison",
    "uuid",
    "random",
    "now",
    "fail",
  ],
  ...[
    "sequence",
    "scope",
    "all",
    "race",
    "map",
    "mapSettled",
    "caught",
    "finally",
    "cleanup",
    "either",
    "early",
    "loop",
    "left",
    "transaction",
    "laps",
  ],
  ...["Promise.all", "Promise.allSettled", "Promise.race", "Promise.any"],
];

test.each(kinds)("programs with a part of kind %s come often, and shrink to little more than it", (kind) => {
  const isWithout = (program: Program) => partsOf(program).every((part) => part.kind !== kind || part === program);
  const { counterexample } = fc.check(fc.property(any, isWithout), { seed: 1, numRuns: 200 });
  expect(partsOf(counterexample?.[0] ?? a).some((part) => part.kind === kind)).toBe(true);
  expect(partsOf(counterexample?.[0] ?? a).length).toBeLessThanOrEqual(10);
});

test("a program reads as the code of a workflow", () => {
  const program = sequenceOf([
    aStep({ name: "a", tries: ["throws", "hangs"], maxAttempts: 3 }),
    raceOf([signalled("red", { timeout: 30_000, onTimeout: "null" }), sequenceOf([sleeping("b", 1_000), b])]),
    plainly("any", [caught(failing("Error")), mapping({ verb: "map", parts: [b, b], maxConcurrency: 1 })]),
    mapping({ verb: "mapSettled", parts: [a, b], maxConcurrency: 2 }),
  ]);
  expect(inWords(program)).toMatchInlineSnapshot(`
    "async ({ step }) => [
      await step.run("a", attempts("throws", "hangs", "a@0"), { maxAttempts: 3, delay: 500, timeout: 5000 }),
      await step.race("race", [
        ({ step }) => step.waitForSignal("red", { timeout: 30000, onTimeout: "null" }),
        async ({ step }) => [
          await step.sleep("b", 1000),
          await step.run("b", () => "b@1.1.1"),
        ],
      ]),
      await Promise.any([
        caught(() => Promise.reject(new Error("thrown@2.0.0"))),
        step.map("each", [0,1], (i, { step }) => step.run("b", () => "b@2.1[i]"), { maxConcurrency: 1 }),
      ]),
      await step.mapSettled("each", [
        ({ step }) => step.run("a", () => "a@3[0]"),
        ({ step }) => step.run("b", () => "b@3[1]"),
      ], (item, { step }) => item({ step }), { maxConcurrency: 2 }),
    ]"
  `);
});

describe("a step that is carried out at most once", () => {
  const interrupted = { name: "StepError", cause: { name: "LayoverError", code: "interrupted" } };

  test("returns, or is interrupted", () => {
    expect(returns(onceOnly({ ends: "returns" }), "once@")).toBe(true);
    expect(throws(onceOnly({ ends: "returns" }), interrupted)).toBe(true);
    expect(throws(onceOnly({ ends: "returns" }), stepError({ attempts: 1, says: "once@" }))).toBe(false);
  });

  test("throws after one attempt, or is interrupted", () => {
    expect(throws(onceOnly({ ends: "throws" }), stepError({ attempts: 1, says: "once@" }))).toBe(true);
    expect(throws(onceOnly({ ends: "throws" }), stepError({ attempts: 2, says: "once@" }))).toBe(false);
    expect(throws(onceOnly({ ends: "throws" }), interrupted)).toBe(true);
    expect(returns(onceOnly({ ends: "throws" }), "once@")).toBe(false);
  });

  test("never returns where its body kills the process", () => {
    expect(returns(onceOnly({ ends: "dies" }), "once@")).toBe(false);
    expect(throws(onceOnly({ ends: "dies" }), interrupted)).toBe(true);
  });
});

test("changed code takes the new path, and either one beside what is no step", () => {
  expect(returns(changed("a"), "new@")).toBe(true);
  expect(returns(changed("a"), "old@")).toBe(false);
  expect(returns(sequenceOf([awaiting(0), changed("a")]), ["came at last", "old@1"])).toBe(true);
});

test("what a run says of itself is the place where it says so", () => {
  expect(returns(sequenceOf([saying]), ["0"])).toBe(true);
  expect(returns(sequenceOf([saying]), ["1"])).toBe(false);
});
