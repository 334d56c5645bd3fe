import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { motionMinute } from "../../src/core/motion.ts";

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
