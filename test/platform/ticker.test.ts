import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import type { TickAnswer } from "../../src/engine/scheduler/tick.ts";
import { messageOf } from "../../src/platform/log/event-text.ts";
import { Ticker } from "../../src/platform/node/in-process/ticker.ts";

interface Tick {
  readonly isFirst: boolean;
  readonly looksAhead: boolean;
  readonly isRung: boolean;
  end(answer?: Partial<TickAnswer>): Promise<void>;
  fail(sqlState?: string): Promise<void>;
}

let ticks: Tick[];
let reports: string[];
let ticker: Ticker;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  ticks = [];
  reports = [];
  ticker = new Ticker({
    tick: (which) => {
      const { promise, resolve, reject } = Promise.withResolvers<TickAnswer>();
      ticks.push({
        ...which,
        end: async (answer) => {
          resolve({ isOurs: true, due: 0, overdue: 0, dispatched: 0, isCutShort: false, hasSeenAll: false, ...answer });
          await vi.advanceTimersByTimeAsync(0);
        },
        fail: async (sqlState) => {
          reject(new QueryError("no database", { isRolledBack: true, ...(sqlState !== undefined && { sqlState }) }));
          await vi.advanceTimersByTimeAsync(0);
        },
      });
      return promise;
    },
    random: () => 0,
    tell: (event) => reports.push(messageOf(event)),
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
  test("ring at no other deployment if only other deployments have asked for them", async () => {
    const rung = () => ticker.tick(1, { isRung: true });
    await Promise.all([rung().catch(() => {}), vi.advanceTimersByTimeAsync(0).then(() => ticks[0]?.end())]);
    void rung();
    await vi.advanceTimersByTimeAsync(0);
    void rung();
    await ring();
    await ticks[1]?.end();
    expect(ticks.map(({ isRung }) => isRung)).toEqual([true, true, false]);
    await ticks[2]?.end();
  });

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
    expect(ticks.map(({ isFirst }) => isFirst)).toEqual([true, true, false]);
  });

  test("that fail are reported", async () => {
    await ring();
    await ticks[0]?.fail();
    expect(reports).toEqual(["error while ticking: no database"]);
  });

  /** Fails each tick, and answers how long after it the next one came. */
  async function pauses(times: number, sqlState?: string): Promise<number[]> {
    const found: number[] = [];
    await ring();
    for (let time = 0; time < times; time += 1) {
      const before = ticks.length;
      await ticks.at(-1)?.fail(sqlState);
      let pausedMs = 0;
      for (; ticks.length === before; pausedMs += 500) await vi.advanceTimersByTimeAsync(500);
      found.push(pausedMs);
    }
    return found;
  }

  test.each([
    ["a lost connection", undefined],
    ["a server that starts", "57P03"],
    ["a server without room", "53300"],
  ])("happen again after 1, 2, 4, 5, 5 … seconds over %s", async (_, sqlState) => {
    expect(await pauses(6, sqlState)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
    await ticks.at(-1)?.end();
    expect((await pauses(1, sqlState)).at(0)).toBe(1_000);
  });

  test.each(["28P01", "3D000", "42501"])(
    "happen less and less often, once a minute at last, over %s",
    async (sqlState) => {
      expect(await pauses(8, sqlState)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    },
  );

  test("look ahead in a new process, after one that failed, and after work that could not be done", async () => {
    await ring();
    await ticks[0]?.fail();
    await vi.advanceTimersByTimeAsync(1_000);
    await ticks[1]?.end();
    await ring();
    await ticks[2]?.end();
    ticker.noteClaims(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ticks.map(({ looksAhead }) => looksAhead)).toEqual([true, true, false, true]);
  });

  test("come less and less often for work that cannot be done though each of them succeeds, until some is done", async () => {
    const pausesMs: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      const before = ticks.length;
      if (time === 3) ticker.noteClaims(true);
      for (let failed = 0; failed < 3; failed += 1) ticker.noteClaims(false);
      let pausedMs = 0;
      for (; ticks.length === before; pausedMs += 500) await vi.advanceTimersByTimeAsync(500);
      pausesMs.push(pausedMs);
      await ticks.at(-1)?.end();
    }
    expect(pausesMs).toEqual([1_000, 2_000, 4_000, 1_000]);
  });

  test.each([
    ["connections are lost", new QueryError("away", { isRolledBack: true }), 5_000],
    ["the server starts", new QueryError("starting up", { isRolledBack: true, sqlState: "57P03" }), 5_000],
    ["the database refuses the call", new QueryError("read only", { isRolledBack: true, sqlState: "25006" }), 60_000],
    ["it belongs to another environment", undefined, 60_000],
  ])("come at last after a pause that fits what has failed, if no work can be done: %s", async (_, failure, lastMs) => {
    for (let time = 0; time < 8; time += 1) {
      ticker.noteClaims(false, failure);
      await vi.advanceTimersByTimeAsync(60_000);
      await ticks.at(-1)?.end();
    }
    const before = ticks.length;
    ticker.noteClaims(false, failure);
    await vi.advanceTimersByTimeAsync(lastMs - 1);
    expect(ticks.length).toBe(before);
    await vi.advanceTimersByTimeAsync(1);
    expect(ticks.length).toBe(before + 1);
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
    expect(reports[0]).toContain("3 runs were due and no alarm of this process rang");
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
