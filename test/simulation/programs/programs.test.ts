/** Programs as wholes: which answers are right, which kinds of parts are drawn, and how a program reads. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { caught } from "./caught.ts";
import { failing } from "./fail.ts";
import { awaiting } from "./foreign.ts";
import { inLaps } from "./laps.ts";
import { mapping } from "./map.ts";
import { changed } from "./patched.ts";
import { plainly } from "./plain.ts";
import { any, inWords, type Program, partsOf } from "./program.ts";
import { raceOf } from "./race.ts";
import { saying } from "./say.ts";
import { sequenceOf } from "./sequence.ts";
import { signalled } from "./signal.ts";
import { sleeping } from "./sleep.ts";
import { aStep } from "./step.ts";
import { a, b, broken, returns, stepError, throws } from "./told-right.ts";

test("laps return what the last one returns", () => {
  expect(returns(inLaps(a), "a@0")).toBe(true);
  expect(returns(inLaps(a), "b@0")).toBe(false);
  expect(throws(inLaps(broken), stepError({ says: "attempt 2 of c@0" }))).toBe(true);
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

test("changed code takes the new path, and either one beside what is no step", () => {
  expect(returns(changed("a"), "new@")).toBe(true);
  expect(returns(changed("a"), "old@")).toBe(false);
  expect(returns(sequenceOf([awaiting(0), changed("a")]), ["came at last", "old@1"])).toBe(true);
});

test("what a run says of itself is the place where it says so", () => {
  expect(returns(sequenceOf([saying]), ["0"])).toBe(true);
  expect(returns(sequenceOf([saying]), ["1"])).toBe(false);
});
