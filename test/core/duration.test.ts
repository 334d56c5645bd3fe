import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Duration, formatDuration, toMilliseconds } from "../../src/core/duration.ts";
import { defaultLimits } from "../../src/core/limits.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;

describe("toMilliseconds", () => {
  it.each<[Duration, number]>([
    ["500ms", 500],
    ["30s", 30 * second],
    ["1 second", second],
    ["2 seconds", 2 * second],
    ["5m", 5 * minute],
    ["5min", 5 * minute],
    ["1 minute", minute],
    ["90 minutes", 90 * minute],
    ["1h", hour],
    ["1 hour", hour],
    ["36 hours", 36 * hour],
    ["3d", 3 * day],
    ["1 day", day],
    ["30 days", 30 * day],
    ["2w", 2 * week],
    ["1 week", week],
    ["2 weeks", 2 * week],
    ["1h 30m", 90 * minute],
    ["1 h 5 min", 65 * minute],
    ["1.5h", 90 * minute],
    ["0s", 0],
    [0, 0],
    [1_500, 1_500],
  ])("reads %j as %d ms", (duration, ms) => {
    expect(toMilliseconds(duration)).toBe(ms);
  });

  it("reads several amounts without spaces", () => {
    expect(toMilliseconds("1d2h3m4s5ms")).toBe(day + 2 * hour + 3 * minute + 4 * second + 5);
  });

  it("counts a begun millisecond", () => {
    expect(toMilliseconds(0.1)).toBe(1);
    expect(toMilliseconds(1.000_001)).toBe(2);
    expect(toMilliseconds("0.0001s")).toBe(1);
  });

  it("does not take the noise of floating point for a begun millisecond", () => {
    expect(1.1 * hour).not.toBe(3_960_000);
    expect(toMilliseconds("1.1h")).toBe(3_960_000);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300_000_000 }), (ms) => {
        expect(toMilliseconds(`${(ms / second).toFixed(3)}s`)).toBe(ms);
      }),
    );
  });

  it("adds up what it is given, whatever the order", () => {
    const units = { w: week, d: day, h: hour, m: minute, s: second, ms: 1 };
    const part = fc.record({ amount: fc.nat(100), unit: fc.constantFrom("w", "d", "h", "m", "s", "ms") });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), fc.constantFrom("", " "), (parts, space) => {
        const text = parts.map(({ amount, unit }) => `${amount}${space}${unit}`).join(" ");
        const sum = parts.reduce((ms, { amount, unit }) => ms + amount * units[unit], 0);
        expect(toMilliseconds(text)).toBe(sum);
      }),
    );
  });

  it.each([
    ["", '"" is not a duration'],
    ["30", '"30" is not a duration'],
    ["s", '"s" is not a duration'],
    ["30 dayz", '"30 dayz" is not a duration'],
    ["1 month", '"1 month" is not a duration'],
    ["30 S", '"30 S" is not a duration'],
    ["-5s", '"-5s" is not a duration'],
    ["1e3s", '"1e3s" is not a duration'],
    ["5 s later", '"5 s later" is not a duration'],
    ["PT5M", '"PT5M" is not a duration'],
    ["5  s", '"5  s" is not a duration'],
    [" 5s", '" 5s" is not a duration'],
    ["3 constructor", '"3 constructor" is not a duration'],
    [Number.NaN, "NaN is not a duration"],
    [-0.5, "-0.5 is negative"],
    [-1, "-1 is negative"],
    [Number.POSITIVE_INFINITY, "Infinity is longer than 10 years"],
    ["3654 days", '"3654 days" is longer than 10 years'],
    [`${"9".repeat(40)} s`, `"${"9".repeat(40)} s" is longer than 10 years`],
  ])("refuses %j", (duration, message) => {
    expect(() => toMilliseconds(duration)).toThrow(expect.objectContaining({ code: "invalid_duration", message }));
  });

  it.each([[null], [undefined], [{}], [["5s"]], [5n], [true]])("refuses %s, which no type allows", (duration) => {
    expect(() => Reflect.apply(toMilliseconds, undefined, [duration])).toThrow("is not a duration");
  });

  it("names the option, the limit and what is allowed", () => {
    expect(() => toMilliseconds("soon", { field: "timeout" })).toThrow(
      expect.objectContaining({
        message: 'timeout: "soon" is not a duration',
        hint: 'Give milliseconds as a number, or a text such as "500ms", "30s", "1h 30m" or "3 days", up to 10 years.',
        details: { field: "timeout", maxMs: defaultLimits.durationMs },
      }),
    );
  });

  it("shows the beginning only of a long text, and does not search it", () => {
    const text = "1s ".repeat(1_000_000);
    expect(() => toMilliseconds(text)).toThrow(`${JSON.stringify(text.slice(0, 50))} is not a duration`);
  });

  it("takes ten years, with all their leap days", () => {
    const from = Date.UTC(2_024, 0, 1);
    expect(toMilliseconds(Date.UTC(2_034, 0, 1) - from)).toBe(defaultLimits.durationMs);
    expect(() => toMilliseconds(defaultLimits.durationMs + 1)).toThrow("is longer than 10 years");
  });

  it("is checked by the compiler where it is written down", () => {
    const durations: Duration[] = ["1h 30m", "1 day", 5];
    // @ts-expect-error: a unit that there is not
    durations.push("30 dayz");
    // @ts-expect-error: no unit
    durations.push("30");
    expect(durations).toHaveLength(5);
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [0.4, "0 ms"],
    [250, "250 ms"],
    [1_500, "1 s 500 ms"],
    [30 * second, "30 s"],
    [90 * second, "1 min 30 s"],
    [65 * minute, "1 h 5 min"],
    [day, "1 day"],
    [day + 4 * hour, "1 day 4 h"],
    [3 * day, "3 days"],
    [3 * day + 5 * minute, "3 days"],
    [hour - 1, "59 min 59 s"],
  ])("writes %d ms as %j", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it("writes what toMilliseconds reads, at most one of its smaller unit less", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: defaultLimits.durationMs }), (ms) => {
        const read = toMilliseconds(formatDuration(ms));
        const smallerUnit = [hour, minute, second, 1][[day, hour, minute, 0].findIndex((unit) => ms >= unit)] ?? 1;
        expect(read).toBeLessThanOrEqual(ms);
        expect(ms - read).toBeLessThan(smallerUnit);
      }),
    );
  });
});
