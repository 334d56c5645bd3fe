/** Sleeps: how long they last, and which lengths and instants are refused. */
import { NonRetryableError } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("a sleep", () => {
  test.each([
    ["a second", "1s", 1_000],
    ["no time at all", 0, 0],
    ["a minute and a half", "90s", 90_000],
    ["an hour", "1 hour", 3_600_000],
    ["ten years", "3650 days", 315_360_000_000],
  ] as const)("of %s lasts as long, to the millisecond", async (_, duration, ms) => {
    const { view, world } = await play(database, async ({ step }) => {
      const before = step.now();
      await step.sleep("nap", duration);
      return step.now().getTime() - before.getTime();
    });
    expect(view).toMatchObject({ status: "completed", result: ms });
    expect(world.time).toBe(ms);
  });

  test("lasts no longer though its process died meanwhile", async () => {
    const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 hour"));
    const run = await world.start(tested);
    await world.pass("10 minutes");
    world.crash();
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBe(3_600_000);
  });

  test("of a run with a start delay reckons from its begin, not from its creation", async () => {
    const world = await worldOf(database, async ({ step, run }) => {
      const began = step.now();
      await step.sleep("nap", "10 minutes");
      return [began, step.now()].map((at) => at.getTime() - run.createdAt.getTime());
    });
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [3_600_000, 4_200_000] });
    expect(world.time).toBe(4_200_000);
  });

  test("of a run with a start delay lasts as long, and as the run stood still, after a retry", async () => {
    let isBroken = true;
    const world = await worldOf(database, async ({ step }) => {
      const fail = () => {
        if (isBroken) throw new NonRetryableError("no");
      };
      const work = async () => {
        await step.run("reserve", () => {});
        await step.run("charge", fail);
      };
      await Promise.all([step.sleep("nap", "3 hours"), work()]);
    });
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    isBroken = false;
    await world.pass("30 minutes");
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBe(4.5 * 3_600_000);
  });

  test("until a time in the past is none", async () => {
    const { world, view } = await play(database, async ({ step }) => step.sleepUntil("nap", new Date(0)));
    expect(view.status).toBe("completed");
    expect(world.time).toBe(0);
  });

  test("until a date ends then", async () => {
    const { view, world } = await play(database, async ({ step }, world) => {
      await step.sleepUntil("date", new Date(Date.UTC(2026, 0, 2)));
      await step.sleepUntil("number", Date.UTC(2026, 0, 3));
      return world.now;
    });
    expect(view.result).toBe(Date.UTC(2026, 0, 3));
    expect(world.time).toBe(36 * 3_600_000);
  });

  test.each([
    ["a date that is none", new Date(Number.NaN)],
    ["NaN", Number.NaN],
    ["the end of the world", Number.MAX_VALUE],
  ])("until %s is refused", async (_, instant) => {
    const { view } = await play(database, async ({ step }) => step.sleepUntil("nap", instant));
    expect(view.error).toMatchObject({ code: "invalid_request", message: 'sleepUntil "nap" got no valid time' });
  });

  test("of an absurd length is refused", async () => {
    const { view } = await play(database, async ({ step }) => step.sleep("nap", 100 * 365 * 86_400_000));
    expect(view.error).toMatchObject({ code: "invalid_duration" });
  });
});
