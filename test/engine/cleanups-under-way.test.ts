/** A cleanup that is under way when its run is cancelled: it goes on where it was, and nothing of it is repeated. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled, recordsOf } from "./cancelling.ts";
import type { TestedContext, TestedStep } from "./playing.ts";

const database = testDatabase();
const second = 1_000;
const minute = 60 * second;

describe("a cleanup that is under way when the run is cancelled", () => {
  test.each<[string, (step: TestedStep) => Promise<unknown>]>([
    ["alone", async () => {}],
    ["beside a branch that is rejected", async (step) => step.sleep("nap", "1 day")],
  ])("asleep goes on, %s", async (_, beside) => {
    const done: string[] = [];
    const { world, run } = await cancelled(database, async ({ step }) => {
      await Promise.all([
        beside(step),
        step.cleanup("release", async ({ step }) => {
          await step.run("unlock", () => done.push("unlock"));
          await step.sleep("settle", "5 minutes");
          await step.run("tell", () => done.push("tell"));
        }),
      ]);
    });
    await world.pass("2 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["unlock", "tell"]);
    expect(world.time).toBeGreaterThanOrEqual(5 * minute);
    expect(world.time).toBeLessThan(8 * minute);
  });

  test.each([
    ["alone", 0],
    ["beside others", 2],
  ])("and is to be tried again has its attempts counted on, %s", async (_, others) => {
    const attempts: number[] = [];
    const handle = async ({ step }: TestedContext) => {
      await Promise.all([
        ...Array.from({ length: others }, (_, n) => step.sleep(`nap ${n}`, "1 day")),
        step.cleanup("release", ({ step }) =>
          step.run(
            "unlock",
            ({ attempt }) => {
              attempts.push(attempt);
              if (attempt < 3) throw new Error("later");
            },
            { retry: { delay: "2 minutes", backoff: 1, jitter: false } },
          ),
        ),
      ]);
    };
    const { world, run } = await cancelled(database, handle, { warmRuns: 0 });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(attempts).toEqual([1, 2, 3]);
    expect((await world.history(run)).records.filter(({ kind }) => kind === "step")).toMatchObject([{ attempts: 3 }]);
  });

  test.each([
    ["alone", 0],
    ["in a branch", 1],
  ])("at work is not told of it, and not carried out again: %s", async (_, others) => {
    const bodies: boolean[] = [];
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => {
        await Promise.all([
          ...Array.from({ length: others }, (_, n) => step.sleep(`nap ${n}`, "1 day")),
          step.cleanup("release", ({ step }) =>
            step.run(
              "unlock",
              async ({ abortSignal }) => {
                await world.foreign("3 minutes");
                bodies.push(abortSignal.aborted);
              },
              { timeout: "10 minutes" },
            ),
          ),
        ]);
      },
      { after: "10s" },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(bodies).toEqual([false]);
    expect(await recordsOf({ world, run })).toContain("step release/unlock");
    expect(world.time).toBeLessThan(6 * minute);
  });
});

test("the handler is told while a cleanup is at work beside it", async () => {
  const told: number[] = [];
  const { world, run } = await cancelled(
    database,
    async ({ step }, world) =>
      Promise.all([
        step.sleep("nap", "1 day").catch(() => told.push(world.time)),
        step.cleanup("release", ({ step }) =>
          step.run("unlock", () => world.foreign("3 minutes"), { timeout: "10 minutes" }),
        ),
      ]),
    { after: "10s" },
  );
  expect(await world.run(run)).toMatchObject({ status: "cancelled" });
  expect(told[0]).toBe(10 * second);
});

test("a cleanup is tried again in time though the cancel waits for another step", async () => {
  const attempts: number[] = [];
  const { world, run } = await cancelled(
    database,
    async ({ step }, world) =>
      Promise.all([
        step.run("slow", () => world.foreign("25s")),
        step.cleanup("release", ({ step }) =>
          step.run(
            "unlock",
            ({ attempt }) => {
              attempts.push(world.time);
              if (attempt === 1) throw new Error("later");
            },
            { retry: { delay: "15s", jitter: false } },
          ),
        ),
      ]),
    { after: "10s", processes: 2 },
  );
  expect(await world.run(run)).toMatchObject({ status: "cancelled" });
  expect(attempts).toHaveLength(2);
  expect(attempts[1]).toBeLessThan(20 * second); // the other step ends after 25 s
});
