/** `step.cleanup` in the course of a run that is cancelled: it runs, it goes on where it was, and it comes to an end. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, cancelled, recordsOf } from "./cancelling.ts";
import { type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

test("cleanups run with their retries and sleeps, and all else is refused", async () => {
  const done: string[] = [];
  const { world, run } = await cancelled(database, async ({ step }) => {
    try {
      await step.sleep("nap", "1 day");
    } finally {
      await expect(step.run("other", () => done.push("other"))).rejects.toMatchObject({ name: "CancelledError" });
      await step.cleanup("release", async (room) => {
        await room.step.run("unlock", ({ attempt }) => {
          if (attempt < 3) throw new Error("later");
          done.push("unlock");
        });
        await room.step.sleep("settle", "5 minutes");
        await room.step.run("tell", () => done.push("tell"));
      });
    }
  });
  await world.pass("1 minute");
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
  expect(done).toEqual(["unlock", "tell"]);
  expect(await recordsOf({ world, run })).toEqual([
    "closing ",
    "step release/unlock",
    "sleep release/settle",
    "step release/tell",
  ]);
});

describe("the cleanups of a run", () => {
  test("have one hour: then they are ended, and the run is cancelled", async () => {
    const met: unknown[] = [];
    const { world, run } = await cancelled(database, async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step
          .cleanup("first", ({ step }) => step.sleep("it", "40 minutes"))
          .then(() => step.cleanup("second", ({ step }) => step.sleep("it", "40 minutes")))
          .catch((error) => met.push(error));
        await step.cleanup("third", ({ step }) => step.run("it", () => 1)).catch((error) => met.push(error));
      }
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(met).toMatchObject([{ name: "CancelledError" }, { name: "CancelledError" }]);
    expect(await recordsOf({ world, run })).toEqual(["closing ", "sleep first/it", "closing "]);
    expect(world.time).toBeGreaterThanOrEqual(hour + minute);
    expect(world.time).toBeLessThan(hour + 4 * minute);
  });

  test("are told by the abort signal where they are at work after an hour", async () => {
    const told: unknown[] = [];
    const { world, run } = await cancelled(database, async ({ step }, world) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("release", ({ step }) =>
          step.run(
            "it",
            async ({ abortSignal }) => {
              abortSignal.addEventListener("abort", () => told.push(abortSignal.reason));
              await world.foreign();
            },
            { timeout: "3 hours" },
          ),
        );
      }
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(told).toMatchObject([{ name: "CancelledError" }]);
    expect(world.time).toBeLessThan(hour + 5 * minute);
  });

  test("that are asked for without an end are ended after an hour", async () => {
    const { world, run } = await cancelled(database, async ({ step }) => {
      for (;;) {
        try {
          await step.cleanup("release", ({ step }) => step.sleep("it", "1 minute"));
          await step.sleep("nap", "1 day");
        } catch {}
      }
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(world.time).toBeLessThan(hour + 5 * minute);
  });

  test.each([1, 100])("go on when the handler has ended, step by step, at %i steps an invocation", async (maxSteps) => {
    const { world, run } = await cancelled(
      database,
      async ({ step }) =>
        Promise.all([
          step.sleep("nap", "1 day"),
          step.cleanup("release", async ({ step }) => {
            await step.sleep("settle", "2 minutes");
            for (let n = 0; n < 5; n += 1) await step.run("it", () => n);
          }),
        ]),
      { invocation: { maxSteps } },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled", records: 7 });
    expect(world.time).toBe(2 * minute); // no lease was left behind, whose end somebody had to wait for
  });

  test("are carried out in each item of a map, though more of them than it has slots", async () => {
    const done: number[] = [];
    const world = await worldOf(database, async ({ step }) =>
      step.map(
        "it",
        [1, 2, 3, 4, 5],
        async (n, { step }) => {
          try {
            await step.sleep("nap", "1 day");
          } finally {
            await step.cleanup("release", ({ step }) =>
              step.run("unlock", ({ attempt }) => {
                if (attempt === 1) throw new Error("later");
                done.push(n);
              }),
            );
          }
        },
        { maxConcurrency: 2 },
      ),
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  test("end though one kills its process each time, and the run is cancelled", async () => {
    const { world, run } = await cancelled(database, async ({ step }, world) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("release", ({ step }) => step.run("deadly", () => world.die()));
      }
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    const { records } = await world.history(run);
    expect(records.at(-1)).toMatchObject({ path: "release/deadly", isFailure: true, value: { code: "step_crashed" } });
    expect(world.time).toBeLessThan(hour);
  });

  test("are carried out in each branch of a race", async () => {
    const done: string[] = [];
    const hold =
      (name: string) =>
      async ({ step }: { step: TestedStep }) => {
        try {
          await step.sleep("nap", "1 day");
        } finally {
          await step.cleanup("release", async ({ step }) => {
            await step.run("unlock", () => done.push(`unlock ${name}`));
            await step.run("tell", () => done.push(`tell ${name}`));
          });
        }
      };
    const { world, run } = await cancelled(database, async ({ step }) => step.race("it", [hold("a"), hold("b")]));
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done.toSorted()).toEqual(["tell a", "tell b", "unlock a", "unlock b"]);
  });

  test("run to their end though one of them fails, and the run is cancelled", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(database, async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await Promise.all([
          step.cleanup("bad", ({ step }) =>
            step.run(
              "it",
              () => {
                throw new Error("no");
              },
              { retry: { maxAttempts: 1 } },
            ),
          ),
          step.cleanup("good", async ({ step }) => {
            await step.sleep("it", "5 minutes");
            await step.run("then", () => done.push("good"));
          }),
        ]);
      }
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled", error: { name: "CancelledError" } });
    expect(done).toEqual(["good"]);
  });
});
