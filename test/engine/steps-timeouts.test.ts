/** Time limits of a step: its timeout, and its lease, which is renewed while its body works. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { bothWays } from "./both-ways.ts";
import { play } from "./playing.ts";

const database = testDatabase();

describe.each(bothWays)("a step %s", (_, runIt) => {
  test("is aborted at its timeout, and a result that comes later is discarded", async () => {
    const aborted: [time: number, reason: string][] = [];
    const { view, world } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ attempt, abortSignal }) => {
          abortSignal.addEventListener("abort", () => aborted.push([world.time, abortSignal.reason.name]));
          await world.foreign(attempt === 1 ? "45s" : "10s");
          return attempt === 1 ? "late" : "in time";
        },
        { timeout: "30s", retry: { delay: "10s", jitter: false } },
      ),
    );
    expect(view).toMatchObject({ status: "completed", result: "in time" });
    expect(aborted).toEqual([[30_000, "TimeoutError"]]);
    expect(world.time).toBe(55_000);
  });

  test("is not begun again while an attempt that timed out still runs in this process", async () => {
    const story: string[] = [];
    const { view } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ attempt }) => {
          story.push(`${attempt} begins`);
          await world.foreign(attempt === 1 ? "2 minutes" : "1s");
          story.push(`${attempt} ends`);
        },
        { timeout: "30s", retry: { maxAttempts: 5, delay: "1s", jitter: false, backoff: 1 } },
      ),
    );
    expect(view.status).toBe("completed");
    // The second attempt and the third were over before they could begin.
    expect(story).toEqual(["1 begins", "1 ends", "4 begins", "4 ends"]);
  });

  test("whose body never ends fails after its last attempt, begun once, and says why", async () => {
    let bodies = 0;
    const { view } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        () => {
          bodies += 1;
          return world.foreign();
        },
        { timeout: "30s", retry: { maxAttempts: 3 } },
      ),
    );
    expect(view.error?.cause).toMatchObject({ name: "TimeoutError" });
    expect(view.error?.cause?.data).toMatchObject({
      hint: expect.stringContaining("An earlier attempt still runs in this process"),
    });
    expect(bodies).toBe(1);
  });

  test("has 60 seconds, unless it asks for more", async () => {
    const { view } = await play(database, async ({ step }, world) =>
      runIt(step, () => world.foreign("61s"), { retry: { maxAttempts: 1 } }),
    );
    expect(view.error?.cause).toMatchObject({
      name: "TimeoutError",
      message: 'the step "it" did not end within 1 min',
      data: { hint: expect.stringContaining("A step has 60 s unless it is given more") },
    });
  });

  test("may take long: its lease is renewed meanwhile, and nobody else carries it out", async () => {
    let bodies = 0;
    const { view, world } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ abortSignal }) => {
          bodies += 1;
          await world.foreign("30 minutes");
          return abortSignal.aborted;
        },
        { timeout: "1 hour" },
      ),
    );
    expect(view).toMatchObject({ status: "completed", result: false });
    expect(bodies).toBe(1);
    expect(world.statements("renew_leases")).toBe(59);
  });

  test("that lost its lease is told so, and its result is not recorded", async () => {
    const told: string[] = [];
    const { view } = await play(
      database,
      async ({ step }, world) => {
        world.fate = ({ what }) => (what === "renew_leases" && world.time < 130_000 ? "fails before" : "passes");
        return runIt(
          step,
          async ({ abortSignal }) => {
            const began = world.time;
            abortSignal.addEventListener("abort", () => told.push(`${began}: ${abortSignal.reason.message}`));
            await world.foreign(began === 0 ? "8 minutes" : "6 minutes");
            return began;
          },
          { timeout: "1 hour" },
        );
      },
      { processes: 4 },
    );
    expect(told).toContain("0: the lease of this step is lost");
    expect(view.status).toBe("completed");
    expect(view.result).toBeGreaterThanOrEqual(60_000);
  });
});
