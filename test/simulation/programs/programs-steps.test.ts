/** The right answers of steps and transactions: told from wrong ones, without any engine. */
import { describe, expect, test } from "vitest";
import { onceOnly } from "./once.ts";
import { poisonous } from "./poison.ts";
import { aStep } from "./step.ts";
import { a, broken, returns, stepError, throws } from "./told-right.ts";
import { booking } from "./transaction.ts";

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
