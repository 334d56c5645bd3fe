import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TimerAlarm } from "../../src/platform/node/in-process/timer-alarm.ts";

const dayMs = 86_400_000;
let rings: number[];
let alarm: TimerAlarm;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  rings = [];
  const began = performance.now();
  alarm = new TimerAlarm(() => rings.push(performance.now() - began));
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an alarm of timers", () => {
  test("rings once for each instant, whenever it is armed again", async () => {
    await alarm.arm([{ at: 1_000, inMs: 1_000 }]);
    await alarm.arm([
      { at: 1_000, inMs: 1_000 },
      { at: 3_000, inMs: 3_000 },
    ]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(rings).toHaveLength(2);
  });

  test("rings at the newest distance of an instant that is armed again", async () => {
    await alarm.arm([{ at: 60_000, inMs: 60_000 }]);
    await alarm.arm([{ at: 60_000, inMs: 360_000 }]);
    await vi.advanceTimersByTimeAsync(359_000);
    expect(rings).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(rings).toHaveLength(1);
    await alarm.arm([{ at: 900_000, inMs: 900_000 }]);
    await alarm.arm([{ at: 900_000, inMs: 1_000 }]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(rings).toHaveLength(2);
  });

  test("rings at once for an instant that has passed", async () => {
    await alarm.arm([{ at: 5, inMs: 0 }]);
    await vi.advanceTimersByTimeAsync(1);
    expect(rings).toHaveLength(1);
  });

  test.each([1, 24, 25, 30 * 24, 3_650 * 24])(
    "that is %i hours away never rings early, and at most 2 minutes late",
    async (hours) => {
      const inMs = hours * 3_600_000;
      await alarm.arm([{ at: inMs, inMs }]);
      await vi.advanceTimersByTimeAsync(inMs - 1);
      expect(rings).toEqual([]);
      await vi.advanceTimersByTimeAsync(120_000);
      expect(rings).toHaveLength(1);
    },
  );

  test("rings late enough for a database whose clock is slower by 50 millionths", async () => {
    await alarm.arm([{ at: dayMs, inMs: dayMs }]);
    await vi.advanceTimersByTimeAsync(dayMs * 1.000_05);
    expect(rings).toEqual([]);
  });

  test("is silent once it is closed", async () => {
    await alarm.arm([{ at: 1_000, inMs: 1_000 }]);
    alarm.close();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(rings).toEqual([]);
  });
});
