import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TickAnswer } from "../../src/engine/tick.ts";
import { Ticker } from "../../src/platform/ticker.ts";

interface Tick {
  readonly isNew: boolean;
  end(answer?: Partial<TickAnswer>): Promise<void>;
  fail(): Promise<void>;
}

let ticks: Tick[];
let reports: string[];
let isArmed: boolean;
let ticker: Ticker;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  ticks = [];
  reports = [];
  isArmed = true;
  ticker = new Ticker({
    tick: ({ isNew }) => {
      const { promise, resolve, reject } = Promise.withResolvers<TickAnswer>();
      ticks.push({
        isNew,
        end: async (answer) => {
          resolve({ isOurs: true, due: 0, dispatched: 0, isNew: false, ...answer });
          await vi.advanceTimersByTimeAsync(0);
        },
        fail: async () => {
          reject(new Error("no database"));
          await vi.advanceTimersByTimeAsync(0);
        },
      });
      return promise;
    },
    isArmed: () => isArmed,
    onError: (error, doing) => reports.push(`${doing}: ${String(error)}`),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

async function ring(): Promise<void> {
  ticker.ring();
  await vi.advanceTimersByTimeAsync(0);
}

describe("ticks", () => {
  test("never overlap: however often it rings during one, one more follows", async () => {
    for (let time = 0; time < 3; time += 1) await ring();
    expect(ticks).toHaveLength(1);
    await ticks[0]?.end();
    expect(ticks).toHaveLength(2);
    await ticks[1]?.end();
    expect(ticks).toHaveLength(2);
  });

  test("that somebody waits for have begun after he asked", async () => {
    await ring();
    let isAnswered = false;
    const asked = ticker.tick().then(() => {
      isAnswered = true;
    });
    await ticks[0]?.end();
    expect(isAnswered).toBe(false);
    await ticks[1]?.end();
    await asked;
  });

  test("are those of a new process until one succeeded", async () => {
    await ring();
    await ticks[0]?.fail();
    await ring();
    await ticks[1]?.end();
    await ring();
    expect(ticks.map(({ isNew }) => isNew)).toEqual([true, true, false]);
  });

  test("that fail are reported, and happen again in a minute where nobody armed that", async () => {
    await ring();
    await ticks[0]?.fail();
    expect(reports).toEqual(["ticking: Error: no database"]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(ticks).toHaveLength(1);

    isArmed = false;
    await ring();
    await ticks[1]?.fail();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(ticks).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(ticks).toHaveLength(3);
  });

  test("end with the ticker: it waits for the one under way, and begins none after it", async () => {
    await ring();
    await ring();
    let isClosed = false;
    const closed = ticker.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(isClosed).toBe(false);
    await ticks[0]?.end();
    await closed;
    await vi.advanceTimersByTimeAsync(7 * 3_600_000);
    expect(ticks).toHaveLength(1);
  });
});

describe("a sweep", () => {
  const sixHoursMs = 6 * 3_600_000;

  test("happens every six hours, and is silent where all is well", async () => {
    await vi.advanceTimersByTimeAsync(sixHoursMs);
    await ticks[0]?.end();
    await vi.advanceTimersByTimeAsync(sixHoursMs);
    await ticks[1]?.end();
    expect(ticks).toHaveLength(2);
    expect(reports).toEqual([]);
  });

  test("reports due runs that nobody had armed for", async () => {
    await vi.advanceTimersByTimeAsync(sixHoursMs);
    await ticks[0]?.end({ due: 3 });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("sweeping: Error: 3 runs were due, and no alarm of this process rang");
  });

  test("says nothing of what an alarm rang for just now", async () => {
    await vi.advanceTimersByTimeAsync(sixHoursMs - 1);
    await ring();
    await ring();
    await vi.advanceTimersByTimeAsync(1);
    await ticks[0]?.end({ due: 3 });
    await ticks[1]?.end({ due: 3 });
    expect(reports).toEqual([]);
  });
});
