/**
 * The rules of waking, read from top to bottom: what is armed before a call, which of that becomes the due instant,
 * when each kind of alarm rings for it, and what happens if nobody comes. Together they keep the wake rule
 * (see src/core/README.md).
 */
import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  backoffMs,
  callMs,
  copyOfAlarm,
  delayUntil,
  dueFor,
  dueForTimeout,
  instantsToArm,
  latestCommit,
  latestRingMs,
  longestBackoffMs,
  lookAheadMs,
  minuteOf,
  minuteRingsAt,
  motionMinute,
  nextRingMs,
  nextTickMs,
  overdueMs,
  punctual,
  timerMs,
  unclaimedDispatches,
  withinTheMinute,
} from "../../src/core/waking.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const tenYears = 3_653 * day;
const noon = Date.UTC(2_026, 10, 20, 12);
const instant = fc.integer({ min: 0, max: Date.UTC(2_200, 0, 1) });
const distance = fc.integer({ min: 1, max: tenYears });

describe("a call that moves a run", () => {
  const aCall = (now: number) => ({ now, notAfter: now + callMs, isBeat: false, pace: punctual });

  it("arms the motion minute, even if the run waits for nothing", () => {
    expect(instantsToArm([], aCall(noon))).toEqual([noon + minute]);
  });

  it("arms for a wait that ends after the latest instant at which the call may commit", () => {
    const { notAfter, ...rest } = aCall(noon);
    const wakeInstants = [noon + 1_000, latestCommit(notAfter), latestCommit(notAfter) + 1];
    expect(instantsToArm(wakeInstants, { notAfter, ...rest })).toEqual([noon + minute, latestCommit(notAfter) + 1]);
  });

  it("counts on no alarm that could ring before it commits", () => {
    fc.assert(
      fc.property(instant, fc.array(distance), (now, distances) => {
        const call = aCall(now);
        const wakeInstants = distances.map((ms) => now + ms);
        for (const at of instantsToArm(wakeInstants, call)) expect(at).toBeGreaterThan(latestCommit(call.notAfter));
      }),
    );
  });

  it("has an instant armed at or before the end of each wait that is too long for a dispatch", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > punctual.shortWaitMs);
        expect(Math.min(...instantsToArm([now + ms], aCall(now)))).toBeLessThanOrEqual(now + ms);
      }),
    );
  });

  it("has the motion minute behind a shorter wait: if its dispatch is lost, the run is looked at soon", () => {
    expect(motionMinute(noon + 1) - (noon + 1)).toBeLessThan(punctual.latestRingMs);
  });

  it("arms for each wait that is to come, where a cron ticks anyway", () => {
    const wakeInstants = [noon, noon + 1, noon + 1_000];
    const call = { ...aCall(noon), isBeat: true };
    expect(instantsToArm(wakeInstants, call)).toEqual([noon + minute, noon + 1, noon + 1_000]);
  });
});

describe("the motion minute", () => {
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

describe("the due instant of a wait", () => {
  it("is the end of the wait, if that is within two minutes", () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 0, max: 2 * minute }), (now, ms) => {
        expect([dueFor(now + ms, now, punctual), dueForTimeout(now + ms, now, punctual)]).toEqual([now + ms, now + ms]);
      }),
    );
  });

  it("is the whole minute below the end of a longer wait", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 2 * minute);
        const at = dueFor(now + ms, now, punctual);
        expect(at % minute).toBe(0);
        expect(now + ms - at).toBeGreaterThanOrEqual(0);
        expect(now + ms - at).toBeLessThan(minute);
      }),
    );
  });

  it("comes before a run's timeout, by an eighth of the distance at most", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 2 * minute);
        const at = dueForTimeout(now + ms, now, punctual);
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
    for (let now = began; now < timeout; now = looks.at(-1) ?? timeout)
      looks.push(dueForTimeout(timeout, now, punctual));
    expect(looks.length).toBeLessThanOrEqual(6);
  });

  it("is shared by timeouts that differ: those of a whole day come to ten instants", () => {
    const began = Date.UTC(2_026, 0, 1);
    const starts = Array.from({ length: 24 * 60 }, (_, number) => began + number * minute);
    const looks = new Set(starts.map((now) => dueForTimeout(now + 30 * 24 * 60 * minute, now, punctual)));
    expect(looks.size).toBeLessThanOrEqual(10);
  });
});

describe("a wait where an alarm rings at any instant of its minute", () => {
  it("that is longer than three minutes is looked at before it ends, and is short then", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 3 * minute);
        const at = dueFor(now + ms, now, withinTheMinute);
        expect(at).toBeGreaterThanOrEqual(latestCommit(now + callMs));
        expect(at + minute).toBeLessThan(now + ms);
        expect(now + ms - at).toBeLessThanOrEqual(withinTheMinute.shortWaitMs);
      }),
    );
  });

  it("for a run's timeout is looked at before that, too", () => {
    fc.assert(
      fc.property(instant, distance, (now, ms) => {
        fc.pre(ms > 3 * minute);
        expect(dueForTimeout(now + ms, now, withinTheMinute) + minute).toBeLessThan(now + ms);
      }),
    );
  });

  it("of up to three minutes is due when it ends", () => {
    expect(dueFor(noon + 3 * minute, noon, withinTheMinute)).toBe(noon + 3 * minute);
  });
});

describe("a tick that looks ahead", () => {
  it("sees everything that a dead process may have dispatched for later, and each run in motion", () => {
    expect(lookAheadMs).toBeGreaterThan(punctual.shortWaitMs);
    fc.assert(
      fc.property(instant, (now) => {
        expect(motionMinute(now) - now).toBeLessThan(lookAheadMs);
      }),
    );
  });

  it("dispatches no turn before its instant, although timers fire a little early", () => {
    expect(delayUntil(noon + 1_000, noon)).toBe(1_020);
  });

  it("dispatches at once what is ready", () => {
    expect([delayUntil(noon, noon), delayUntil(noon - 1, noon)]).toEqual([0, 0]);
  });
});

describe("an alarm rings at its instant or as late as its host says at most", () => {
  /** Expects that an alarm rings in time where the host's clock is exact. */
  const ringsWithin = (ringsAt: (at: number) => number, pace = punctual) => {
    fc.assert(
      fc.property(distance, (ms) => {
        const at = noon + ms;
        expect(ringsAt(at)).toBeGreaterThanOrEqual(at);
        expect(ringsAt(at)).toBeLessThanOrEqual(at + pace.latestRingMs);
      }),
    );
  };

  it("as a timer of a process", () => {
    ringsWithin((at) => noon + timerMs(at - noon));
  });

  it("as the copy of a timer, in another process that outlives the first one", () => {
    ringsWithin((at) => noon + timerMs(copyOfAlarm(at) - noon));
  });

  it("as a minute of a Durable Object", () => {
    ringsWithin((at) => minuteRingsAt(minuteOf(at)));
  });

  it("as a minute that the Durable Object has dropped: the next cron trigger that sees it overdue ticks", () => {
    ringsWithin((at) => Math.ceil((minuteRingsAt(minuteOf(at)) + overdueMs) / minute) * minute);
  });

  it("as a schedule of EventBridge, which fires at the end of its minute and starts a function cold", () => {
    const [scheduler, coldStart] = [59_000, 10_000];
    ringsWithin((at) => minuteRingsAt(minuteOf(at)) + scheduler + coldStart, withinTheMinute);
  });

  it("and not early, if the database's clock is slower by 50 millionths, up to ten days ahead", () => {
    expect(timerMs(day)).toBeGreaterThan(day * 1.000_05);
    expect(timerMs(10 * day)).toBeGreaterThan(10 * day * 1.000_05);
  });
});

describe("a tick that fails", () => {
  it("is followed by another one before its runs count as overdue", () => {
    expect(nextTickMs).toBeLessThan(punctual.latestRingMs);
    expect(nextRingMs).toBeLessThan(overdueMs);
  });
});

describe("a turn that nobody claims", () => {
  it("is looked at again a minute after its first dispatch, then after 2, 4 and 8 minutes", () => {
    for (const pace of [punctual, withinTheMinute])
      expect([0, 1, 2, 3].map((dispatches) => backoffMs(dispatches, pace) / minute)).toEqual([1, 2, 4, 8]);
  });

  it("is looked at every six hours at the least, however often it was dispatched", () => {
    expect([9, 100].map((dispatches) => backoffMs(dispatches, punctual))).toEqual([6 * hour, 6 * hour]);
  });

  it("is looked at every ten minutes at the least on AWS, where it may only wait for concurrency", () => {
    expect([4, 100].map((dispatches) => backoffMs(dispatches, withinTheMinute) / minute)).toEqual([10, 10]);
  });

  it("is never left for longer than the longest pause of any host", () => {
    for (const pace of [punctual, withinTheMinute]) expect(pace.longestBackoffMs).toBeLessThanOrEqual(longestBackoffMs);
  });
});

describe("layover doctor", () => {
  const [path = ""] = globSync("src/postgres/functions/**/diagnose.sql");
  const diagnose = readFileSync(path, "utf8");

  it("calls a run overdue when its alarm can no longer ring", () => {
    expect(diagnose).toContain(`d.due_at < v_now - interval '${latestRingMs / minute} minutes' then 'overdue'`);
  });

  it("calls a turn unclaimed when the engine does", () => {
    expect(diagnose).toContain(`d.dispatches > ${unclaimedDispatches - 1} then 'unclaimed'`);
  });

  it("looks as far ahead as the longest pause between two looks at such a turn", () => {
    expect(diagnose).toContain(`t.due_at <= v_now + interval '${longestBackoffMs / hour} hours'`);
  });
});
