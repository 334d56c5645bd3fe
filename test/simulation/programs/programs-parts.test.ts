/** The right answers of programs that have parts: told from wrong ones, without any engine. */
import { describe, expect, test } from "vitest";
import { allOf } from "./all.ts";
import { caught } from "./caught.ts";
import { inCleanup } from "./cleanup.ts";
import { drawing } from "./drawn.ts";
import { leaving } from "./early.ts";
import { choosing } from "./either.ts";
import { failing } from "./fail.ts";
import { cleaned } from "./finally.ts";
import { looping } from "./loop.ts";
import { mapping } from "./map.ts";
import { plainly } from "./plain.ts";
import type { Program } from "./program.ts";
import { raceOf } from "./race.ts";
import { inRoom } from "./scope.ts";
import { sequenceOf } from "./sequence.ts";
import { signalled } from "./signal.ts";
import { sleeping } from "./sleep.ts";
import { a, b, broken, returns, stepError, throws } from "./told-right.ts";

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
