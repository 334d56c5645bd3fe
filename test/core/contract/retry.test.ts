import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveRetry, retryDelay } from "../../../src/core/contract/retry.ts";

describe("resolveRetry", () => {
  it("tries 5 times, after 1 s and twice as long each time, up to 5 min", () => {
    const defaults = { maxAttempts: 5, delayMs: 1_000, backoff: 2, maxDelayMs: 300_000, jitter: true };
    expect(resolveRetry()).toEqual(defaults);
    expect(resolveRetry({})).toEqual(defaults);
  });

  it("takes what it is given", () => {
    const policy = { maxAttempts: 1, delay: "2s", backoff: 1.5, maxDelay: "1 hour", jitter: false } as const;
    expect(resolveRetry(policy)).toEqual({
      maxAttempts: 1,
      delayMs: 2_000,
      backoff: 1.5,
      maxDelayMs: 3_600_000,
      jitter: false,
    });
  });

  it.each([
    [{ maxAttempts: 0 }, "retry.maxAttempts: 0 is not a whole number from 1 to 10000"],
    [{ maxAttempts: 1.5 }, "retry.maxAttempts: 1.5 is not a whole number from 1 to 10000"],
    [{ maxAttempts: 10_001 }, "retry.maxAttempts: 10001 is not a whole number from 1 to 10000"],
    [{ maxAttempts: Number.POSITIVE_INFINITY }, "retry.maxAttempts: Infinity is not a whole number from 1 to 10000"],
    [{ backoff: 0.5 }, "retry.backoff: 0.5 is not a number of at least 1"],
    [{ backoff: Number.NaN }, "retry.backoff: NaN is not a number of at least 1"],
    [{ backoff: Number.POSITIVE_INFINITY }, "retry.backoff: Infinity is not a number of at least 1"],
  ])("refuses %j", (policy, message) => {
    const [field] = message.split(":");
    expect(() => resolveRetry(policy)).toThrow(
      expect.objectContaining({ code: "invalid_retry", message, details: { field } }),
    );
  });

  it("says which of its durations is wrong", () => {
    expect(() => resolveRetry({ delay: -1 })).toThrow("retry.delay: -1 is negative");
    expect(() => resolveRetry({ maxDelay: -1 })).toThrow("retry.maxDelay: -1 is negative");
  });

  it("takes the borders of what it allows", () => {
    expect(resolveRetry({ maxAttempts: 10_000, backoff: 1 })).toMatchObject({ maxAttempts: 10_000, backoff: 1 });
  });
});

describe("retryDelay", () => {
  const exact = resolveRetry({ delay: "1s", backoff: 2, maxDelay: "5m", jitter: false });

  it("doubles from failure to failure, up to the longest", () => {
    const delays = [1, 2, 3, 8, 9, 10, 100].map((failures) => retryDelay(exact, failures, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000]);
  });

  it("is anywhere below that with jitter", () => {
    const jittered = { ...exact, jitter: true };
    expect([0, 0.25, 0.5, 0.999_999].map((random) => retryDelay(jittered, 3, random))).toEqual([
      0, 1_000, 2_000, 4_000,
    ]);
  });

  it("is never longer than the first failure's delay if there is no backoff", () => {
    expect(retryDelay({ ...exact, backoff: 1 }, 1_000, 0)).toBe(1_000);
  });

  it("is a whole number of milliseconds between 0 and maxDelay, however often it failed", () => {
    const policy = fc.record({
      delay: fc.nat(1e9),
      backoff: fc.double({ min: 1, max: Number.MAX_VALUE, noNaN: true }),
      maxDelay: fc.nat(1e9),
      jitter: fc.boolean(),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 10_000 }), random, (given, failures, chance) => {
        const delay = retryDelay(resolveRetry(given), failures, chance);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(given.maxDelay);
      }),
    );
  });

  it("never falls from failure to failure without jitter", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 10, noNaN: true }),
        fc.integer({ min: 1, max: 100 }),
        (backoff, failures) => {
          const retry = { ...exact, backoff };
          expect(retryDelay(retry, failures + 1, 0)).toBeGreaterThanOrEqual(retryDelay(retry, failures, 0));
        },
      ),
    );
  });
});
