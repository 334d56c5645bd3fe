import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dueFor, dueForTimeout, motionMinute } from "../../src/core/waking.ts";

const minute = 60_000;
const instant = fc.integer({ min: 0, max: Date.UTC(2_200, 0, 1) });

describe("motionMinute", () => {
  it("is one minute after a whole minute", () => {
    expect(motionMinute(0)).toBe(minute);
    expect(motionMinute(Date.UTC(2_026, 10, 20, 10, 0))).toBe(Date.UTC(2_026, 10, 20, 10, 1));
  });

  it("is the minute after next within a minute", () => {
    expect(motionMinute(1)).toBe(2 * minute);
    expect(motionMinute(0.001)).toBe(2 * minute);
    expect(motionMinute(minute - 1)).toBe(2 * minute);
  });

  it("is the first whole minute at least 60 s ahead", () => {
    fc.assert(
      fc.property(instant, (now) => {
        const at = motionMinute(now);
        expect(at % minute).toBe(0);
        expect(at - now).toBeGreaterThanOrEqual(minute);
        expect(at - now).toBeLessThan(2 * minute);
      }),
    );
  });

  it("is the same for all instants of a minute but its first", () => {
    fc.assert(
      fc.property(
        instant,
        fc.integer({ min: 1, max: minute }),
        fc.integer({ min: 1, max: minute }),
        (now, one, other) => {
          const start = Math.floor(now / minute) * minute;
          expect(motionMinute(start + one)).toBe(motionMinute(start + other));
        },
      ),
    );
  });
});

describe("a look for a deadline", () => {
  const distance = fc.integer({ min: 1, max: 3_653 * 24 * 60 * minute });

  it("comes at the deadline, where that is within two minutes", () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 0, max: 2 * minute }), (now, ms) => {
        expect([dueFor(now + ms, now), dueForTimeout(now + ms, now)]).toEqual([now + ms, now + ms]);
      }),
    );
  });

  it("comes at the whole minute below a far one", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 2 * minute);
        const at = dueFor(now + ms, now);
        expect(at % minute).toBe(0);
        expect(now + ms - at).toBeGreaterThanOrEqual(0);
        expect(now + ms - at).toBeLessThan(minute);
      }),
    );
  });

  it("comes an eighth of the distance before a timeout at most, and later than a minute from now", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 2 * minute);
        const at = dueForTimeout(now + ms, now);
        expect(at % minute).toBe(0);
        expect(now + ms - at).toBeGreaterThanOrEqual(0);
        expect(now + ms - at).toBeLessThan(Math.max(minute, ms / 8));
      }),
    );
  });

  it("comes some five times before a timeout of 30 days", () => {
    const began = Date.UTC(2_026, 0, 1, 12, 34, 56, 789);
    const timeout = began + 30 * 24 * 60 * minute;
    const looks: number[] = [];
    for (let now = began; now < timeout; now = looks.at(-1) ?? timeout) looks.push(dueForTimeout(timeout, now));
    expect(looks.length).toBeLessThanOrEqual(6);
  });

  it("is shared by timeouts that differ: those of a whole day come to ten looks", () => {
    const began = Date.UTC(2_026, 0, 1);
    const starts = Array.from({ length: 24 * 60 }, (_, number) => began + number * minute);
    const looks = new Set(starts.map((now) => dueForTimeout(now + 30 * 24 * 60 * minute, now)));
    expect(looks.size).toBeLessThanOrEqual(10);
  });
});
