import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { ErrorValue } from "../../../src/core/codec/error-value.ts";
import {
  CallbackRejectedError,
  CancelledError,
  isNonRetryable,
  NonRetryableError,
  RetryAfterError,
  retryAfterOf,
  StepError,
  TimeoutError,
} from "../../../src/core/contract/user-errors.ts";

const declined: ErrorValue = { name: "CardDeclined", message: "no funds", data: { card: "4242" } };
const hostile = new Proxy({}, { get: fail, has: fail });

function fail(): never {
  throw new Error("do not touch");
}

describe("NonRetryableError", () => {
  it("keeps its message, its cause and its data", () => {
    const cause = new Error("why");
    const error = new NonRetryableError("rejected", { cause, data: { by: "Ada" } });
    expect(error).toMatchObject({ name: "NonRetryableError", message: "rejected", cause, data: { by: "Ada" } });
    expect(error).toBeInstanceOf(Error);
  });

  it("has no cause and no data where none was given", () => {
    const error = new NonRetryableError("rejected");
    expect("cause" in error).toBe(false);
    expect("data" in error).toBe(false);
  });
});

describe("isNonRetryable", () => {
  it("tells a NonRetryableError from anything else that is thrown", () => {
    expect(isNonRetryable(new NonRetryableError("rejected"))).toBe(true);
    for (const thrown of [
      new Error("a"),
      new RetryAfterError("a", 1),
      "NonRetryableError",
      null,
      undefined,
      5,
      {},
      hostile,
    ]) {
      expect(isNonRetryable(thrown)).toBe(false);
    }
  });

  it("knows a subclass with a name of its own", () => {
    class Rejected extends NonRetryableError {
      override readonly name = "Rejected";
    }
    expect(isNonRetryable(new Rejected("no"))).toBe(true);
  });

  it("knows it by its name, so that it may come from another realm or copy of the package", () => {
    const foreign = runInNewContext("Object.assign(new Error('rejected'), { name: 'NonRetryableError' })");
    expect(isNonRetryable(foreign)).toBe(true);
    expect(isNonRetryable(Object.defineProperty({}, Symbol.for("layover.nonRetryable"), { value: true }))).toBe(true);
  });
});

describe("RetryAfterError", () => {
  it("keeps its message, its cause and when to retry", () => {
    const error = new RetryAfterError("rate limited", "1 min", { cause: 429 });
    expect(error).toMatchObject({ name: "RetryAfterError", message: "rate limited", after: "1 min", cause: 429 });
    expect("cause" in new RetryAfterError("rate limited", 1)).toBe(false);
  });

  it.each([
    [-1, "after: -1 is negative"],
    ["soon", 'after: "soon" is not a duration'],
    [null, "after: NaN is not a duration"],
    [new Date("soon"), "after: the date is invalid"],
  ])("refuses %o where it is made", (after, message) => {
    const make = (): unknown => Reflect.construct(RetryAfterError, ["rate limited", after]);
    expect(make).toThrow(
      expect.objectContaining({
        code: "invalid_duration",
        message,
        details: expect.objectContaining({ field: "after" }),
      }),
    );
  });
});

describe("retryAfterOf", () => {
  it("answers the delay or the date", () => {
    const at = new Date("2026-11-20T10:00:00Z");
    expect(retryAfterOf(new RetryAfterError("rate limited", "1 min"))).toEqual({ delayMs: 60_000 });
    expect(retryAfterOf(new RetryAfterError("rate limited", 0))).toEqual({ delayMs: 0 });
    expect(retryAfterOf(new RetryAfterError("rate limited", at))).toEqual({ at });
  });

  it("knows a subclass, and one from another realm", () => {
    class RateLimited extends RetryAfterError {
      override readonly name = "RateLimited";
    }
    expect(retryAfterOf(new RateLimited("slow down", 5))).toEqual({ delayMs: 5 });
    const foreign = runInNewContext("Object.assign(new Error('a'), { name: 'RetryAfterError', after: new Date(0) })");
    expect(retryAfterOf(foreign)).toEqual({ at: new Date(0) });
    const marked = Object.defineProperty({ after: "5s" }, Symbol.for("layover.retryAfter"), { value: true });
    expect(retryAfterOf(marked)).toEqual({ delayMs: 5_000 });
  });

  it("answers nothing for any other error, even one of that name that says something else", () => {
    for (const thrown of [
      new Error("a"),
      new NonRetryableError("a"),
      null,
      { name: "RetryAfterError", after: "soon" },
      hostile,
    ]) {
      expect(retryAfterOf(thrown)).toBeUndefined();
    }
  });
});

describe("StepError", () => {
  it("says which step failed, how often, and why", () => {
    const error = new StepError({ step: "charge", attempts: 5, cause: declined });
    expect(error).toMatchObject({ name: "StepError", step: "charge", attempts: 5, cause: declined });
    expect(error.message).toBe('step "charge" failed after 5 attempts: CardDeclined: no funds');
    expect(new StepError({ step: "a", attempts: 1, cause: declined }).message).toContain("after 1 attempt:");
  });
});

describe("TimeoutError", () => {
  it.each([
    ["signal", 'the signal "address" did not arrive within 3 days'],
    ["callback", 'the callback "address" was not answered within 3 days'],
    ["invoke", 'the invoked run "address" was not over within 3 days'],
    ["step", 'the step "address" did not end within 3 days'],
    ["run", 'the run of "address" was not over within 3 days'],
  ] as const)("says for how long it waited: %s", (kind, message) => {
    const error = new TimeoutError({ kind, wait: "address", timeoutMs: 259_200_000 });
    expect(error).toMatchObject({ name: "TimeoutError", kind, wait: "address", timeoutMs: 259_200_000, message });
  });
});

describe("CancelledError", () => {
  it("keeps the reason, if there is one", () => {
    expect(new CancelledError("sold out")).toMatchObject({
      name: "CancelledError",
      reason: "sold out",
      message: "the run was cancelled: sold out",
    });
    expect(new CancelledError()).toMatchObject({ reason: undefined, message: "the run was cancelled" });
  });
});

describe("CallbackRejectedError", () => {
  it("says which callback was rejected, and why", () => {
    const error = new CallbackRejectedError({ callback: "approval", cause: declined });
    expect(error).toMatchObject({ name: "CallbackRejectedError", callback: "approval", cause: declined });
    expect(error.message).toBe('the callback "approval" was rejected: no funds');
  });
});
