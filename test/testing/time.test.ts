/** Time in the kit: it passes when the test says so, and then retries, sleeps, timeouts and schedules come. */
import { NonRetryableError, schedule, TimeoutError, workflow } from "layover";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { failing, hanging, testEngine } from "../../src/testing.ts";
import { real, testEngines, tested } from "./engines.ts";

const { aRunOf } = testEngines();

describe("retries", () => {
  it("come when time passes, as many as the stub fails", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("charge", real), { charge: failing(2, () => "c1") });
    await t.untilIdle();
    expect(await run.status()).toBe("retrying");
    await t.advance(499);
    expect((await run.history()).attempts).toHaveLength(1);
    await t.advance(1); // half of the first second
    expect((await run.history()).attempts).toHaveLength(2);
    await t.advance("1s");
    expect(await run.result()).toBe("c1");
    expect((await run.history()).records).toMatchObject([{ path: "charge", attempts: 3 }]);
  });

  it("end with the last attempt", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("charge", real), { charge: failing(5, () => "c1") });
    await t.advance("10 minutes");
    await expect(run.result()).rejects.toMatchObject({
      cause: { name: "StepError", message: expect.stringContaining("charge") },
    });
  });

  it("do not come for an error that says so", async () => {
    const { run } = await aRunOf(async (step) => step.run("charge", real), {
      charge: failing(1, () => "c1", new NonRetryableError("no money")),
    });
    await expect(run.result()).rejects.toThrow("no money");
  });
});

describe("time", () => {
  it("is at noon of a day in 2026 at first, or at what the test says", async () => {
    const { t, run } = await aRunOf(async (step) => step.now());
    expect(t.now).toEqual(new Date("2026-01-01T12:00Z"));
    expect(await run.result()).toEqual(t.now);
    const { run: other } = await aRunOf(async (step) => step.now(), {}, { now: new Date("1999-12-31T23:59Z") });
    expect(await other.result()).toEqual(new Date("1999-12-31T23:59Z"));
    expect(await run.get()).toMatchObject({ createdAt: new Date("2026-01-01T12:00Z") });
  });

  it("passes 30 days with sleeps, retries and timeouts, each at its instant", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        const seen: Date[] = [];
        for (let day = 0; day < 30; day += 1) {
          await step.sleep("night", "23 hours");
          await step.run("work", real, { retry: { delay: "1h", maxDelay: "1h", jitter: false } });
          seen.push(step.now());
        }
        await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" });
        return seen;
      },
      { work: failing(1, () => {}) },
    );
    await t.advance("30 days");
    expect(await run.status()).toBe("waiting");
    await t.advance("1 hour");
    const days = Array.from({ length: 30 }, (_, day) => new Date(Date.UTC(2026, 0, 2 + day, 12)));
    expect(await run.result()).toEqual(days);
  });

  it("may pass by years, and what is over is still there", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForSignal("go"));
    const { t: other, run: failed } = await aRunOf(async () => Promise.reject(new Error("no")));
    await run.signal("go", "done");
    await Promise.all([t, other].map((engine) => engine.advance("400 days")));
    expect(await run.result()).toBe("done");
    await expect(failed.result()).rejects.toThrow("no");
    await t.untilIdle();
    await t.start(tested);
    await t.advance("400 days");
    expect(await run.status()).toBe("completed");
  });

  it("is each engine's own", async () => {
    const one = await aRunOf(async (step) => step.sleep("a while", "1 hour"));
    const other = await aRunOf(async (step) => step.sleep("a while", "1 hour"));
    await one.t.advance("1 hour");
    await other.t.advance("59 minutes");
    await Promise.all([one.t.untilIdle(), other.t.untilIdle()]);
    expect([await one.run.status(), await other.run.status()]).toEqual(["completed", "sleeping"]);
    await Promise.all([one.t.advance("1 minute"), other.t.advance("1 minute")]);
    expect((await other.run.get()).endedAt).toEqual(new Date("2026-01-01T13:00Z"));
  });

  it("passes for a body that never ends, into its timeout and no further", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        try {
          await step.run("slow", real, { timeout: "2 minutes", retry: { maxAttempts: 2 } });
        } catch (error) {
          return error instanceof Error ? error.message : error;
        }
        return "it ended";
      },
      { slow: hanging },
    );
    await t.advance(120_000 - 1);
    expect((await run.history()).attempts).toEqual([]);
    await t.advance(1);
    expect((await run.history()).attempts).toMatchObject([{ path: "slow", error: { name: TimeoutError.name } }]);
    await t.advance("5 minutes");
    expect(await run.result()).toMatch(/slow.*2 min/);
  });

  it("goes by although the test has faked the timers of its own code", async () => {
    vi.useFakeTimers();
    try {
      const { t, run } = await aRunOf(async (step) => step.sleep("night", "8 hours"));
      await t.advance("8 hours");
      expect(await run.status()).toBe("completed");
    } finally {
      vi.useRealTimers();
    }
  });
});

it("schedules fire as the clock is turned, also after a crash", async () => {
  const report = workflow({ name: "report", version: 1, input: z.object({ day: z.string() }), output: z.string() });
  const t = await testEngine({
    workflows: [report.handler(async ({ input }) => input.day)],
    schedules: [
      schedule({
        name: "nightly",
        cron: "0 3 * * *",
        start: report,
        input: ({ scheduledAt }) => ({ day: scheduledAt.toISOString().slice(0, 10) }),
      }),
    ],
  });
  await t.advance("1 day");
  t.crash();
  await t.advance("1 day");
  const runs = await t.runs(report);
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual(["2026-01-02", "2026-01-03"]);
});
