/** What a process remembers of its alarms: armed once while they stand, anew when they may not. */
import { describe, expect, test } from "vitest";
import type { Alarm } from "../../src/core/ports.ts";
import { Alarms } from "../../src/postgres/alarms.ts";
import { DatabaseClock } from "../../src/postgres/database-clock.ts";
import { Timers } from "../../src/testing/timers.ts";

const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;

/** `isBeat`: it rings at a pace of its own. */
function aProcess({ isBeat = false } = {}) {
  const timers = new Timers(() => time);
  let time = 0;
  const clock = new DatabaseClock(timers);
  clock.learn(noon);
  const armed: number[][] = [];
  const distances: number[][] = [];
  const failures: (Error | "hangs")[] = [];
  const alarm: Alarm = async (instants) => {
    armed.push(instants.map(({ at, inMs }) => (at - inMs === clock.now() ? at : Number.NaN)));
    distances.push(instants.map(({ inMs }) => inMs));
    const failure = failures.shift();
    if (failure === "hangs") await new Promise(() => {});
    if (failure !== undefined) throw failure;
  };
  const alarms = new Alarms({ alarm, clock, host: timers, isBeat });
  const advance = (ms: number) => {
    time += ms;
    timers.fire();
  };
  return { alarms, clock, armed, distances, failures, advance };
}

describe("an alarm", () => {
  test("that stands is not armed again, whatever else is", async () => {
    const { alarms, armed } = aProcess();
    await alarms.arm([noon + minute]);
    expect(await alarms.arm([noon + minute, noon + 2 * minute])).toEqual([noon + minute, noon + 2 * minute]);
    expect(armed).toEqual([[noon + minute], [noon + 2 * minute]]);
  });

  test("that has rung stands no longer; the others do", async () => {
    const { alarms, armed, advance } = aProcess();
    await alarms.arm([noon + minute, noon + 2 * minute]);
    advance(minute);
    await alarms.arm([noon + minute, noon + 2 * minute]);
    expect(armed.slice(1)).toEqual([[noon + minute]]);
  });

  test("that may have rung, since another clock is ahead, is armed anew when it is needed", async () => {
    const { alarms, armed } = aProcess();
    await alarms.arm([noon + minute, noon + 2 * minute]);
    alarms.forgetWithin(minute);
    expect(armed).toHaveLength(1);
    await alarms.arm([noon + minute, noon + 2 * minute]);
    expect(armed.slice(1)).toEqual([[noon + minute]]);
  });

  test("stands until it has rung by the host's clock, wherever the database's clock was set meanwhile", async () => {
    const { alarms, clock, armed, advance } = aProcess();
    await alarms.arm([noon + minute]);
    clock.learn(noon + 10 * minute);
    await alarms.arm([noon + minute]);
    expect(armed).toHaveLength(1);
    clock.learn(noon - 10 * minute);
    advance(minute);
    await alarms.arm([noon + minute]);
    expect(armed.slice(1)).toEqual([[noon + minute]]);
  });

  test.each([
    ["back", -5 * minute],
    ["forward", 5 * minute],
  ])(
    "is armed at its new distance when the database's clock was set %s, and a tick is to come at once",
    async (_, step) => {
      const { alarms, clock, armed, distances } = aProcess();
      await alarms.arm([noon + 10 * minute, noon + 20 * minute]);
      clock.learn(noon + step);
      await alarms.rearm();
      expect(armed.slice(1)).toEqual([[noon + step, noon + 10 * minute, noon + 20 * minute]]);
      expect(distances.slice(1)).toEqual([[0, 10 * minute - step, 20 * minute - step]]);
    },
  );

  test("that never answers fails whoever waits for it after 30 seconds, and is armed anew", async () => {
    const { alarms, armed, failures, advance } = aProcess();
    failures.push("hangs");
    const waiting = alarms.arm([noon + minute]);
    advance(30_000);
    await expect(waiting).rejects.toMatchObject({ code: "no_answer" });
    await alarms.arm([noon + minute]);
    expect(armed).toEqual([[noon + minute], [noon + minute]]);
  });

  test("that failed fails whoever waits for it, and is armed anew", async () => {
    const { alarms, armed, failures } = aProcess();
    failures.push(new Error("no alarm"));
    const both = await Promise.allSettled([alarms.arm([noon + minute]), alarms.arm([noon + minute])]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await alarms.arm([noon + minute]);
    expect(armed).toEqual([[noon + minute], [noon + minute]]);
  });

  test("for a call is the motion minute, and each wake instant for which an alarm cannot ring before the commit", async () => {
    const { alarms, armed } = aProcess();
    const notAfter = noon + 20_000;
    const wakeInstants = [noon + 1_000, notAfter + 30_000, notAfter + 30_001];
    const expected = [noon + minute, notAfter + 30_001];
    expect(await alarms.armFor(notAfter, wakeInstants)).toEqual(expected);
    expect(armed).toEqual([expected]);
  });

  test("that is a beat comes again: each wake instant to come counts", async () => {
    const { alarms } = aProcess({ isBeat: true });
    const wakeInstants = [noon, noon + 1, noon + 1_000];
    expect(await alarms.armFor(noon + 20_000, wakeInstants)).toEqual([noon + minute, noon + 1, noon + 1_000]);
  });
});
