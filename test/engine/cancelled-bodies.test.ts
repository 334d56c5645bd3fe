/** A step that is at work when its run is cancelled: its body is told, what it returns is recorded, and no other begins. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, cancelled, reason, recordsOf } from "./cancelling.ts";
import { type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const second = 1_000;
const minute = 60 * second;
/** A lease stands for a minute, and is renewed after half of that. */
const leaseMs = minute;

type Body = Parameters<TestedStep["run"]>[1];
type Options = Parameters<TestedStep["run"]>[2];

describe.each([
  ["alone", async (step: TestedStep, body: Body, options?: Options) => step.run("it", body, options)],
  [
    "beside another",
    async (step: TestedStep, body: Body, options?: Options) =>
      Promise.all([step.run("it", body, options), step.run("other", () => 0)]),
  ],
])("a step %s that is at work when its run is cancelled", (_, runIt) => {
  test("is told at the next renewal; what it gives then is recorded, and the run is cancelled", async () => {
    const told: unknown[] = [];
    const met: unknown[] = [];
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => {
        await runIt(step, async ({ abortSignal }) => {
          abortSignal.addEventListener("abort", () => told.push([abortSignal.reason, world.time]));
          await world.foreign("40s");
          return "charged";
        });
        await step.sleep("nap", "1 day").catch((error) => met.push(error));
      },
      { leaseMs, after: "10s" },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(told).toMatchObject([[{ name: "CancelledError", reason }, 30 * second]]);
    expect(met).toMatchObject([{ name: "CancelledError", reason }]);
    const { records } = await world.history(run);
    expect(records.find(({ path }) => path === "it")).toMatchObject({ value: "charged", isFailure: false });
    expect(await recordsOf({ world, run })).toContain("closing ");
    expect(world.time).toBeLessThan(45 * second);
  });

  test("is not carried out again where it fails over it, and its handler meets the cancel", async () => {
    const met: unknown[] = [];
    let bodies = 0;
    const { world, run } = await cancelled(
      database,
      async ({ step }) =>
        runIt(step, ({ abortSignal }) => {
          bodies += 1;
          return new Promise((_, reject) => {
            abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
          });
        }).catch((error) => met.push(error)),
      { leaseMs, after: "10s" },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect([bodies, met]).toMatchObject([1, [{ name: "CancelledError", reason }]]);
    expect((await world.history(run)).attempts).toMatchObject([
      { path: "it", number: 1, error: { name: "CancelledError" } },
    ]);
    expect(world.time).toBeLessThan(40 * second);
  });

  test.each([
    ["a minute after it was told", "10 minutes", 90 * second],
    ["at its own timeout", "50s", 50 * second],
  ] as const)("and does not end counts as begun, its result unknown: %s", async (_when, timeout, at) => {
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => runIt(step, () => world.foreign(), { timeout }),
      { leaseMs, after: "10s" },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    const { attempts, records } = await world.history(run);
    expect(attempts).toMatchObject([{ path: "it", number: 1, error: { code: "result_unknown" } }]);
    expect(records.find(({ path }) => path === "it")).toBeUndefined();
    expect(world.time).toBeGreaterThanOrEqual(at);
    expect(world.time).toBeLessThan(at + 5 * second);
  });

  test("ends with its process, and the run is cancelled two minutes after its lease at the latest", async () => {
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => runIt(step, () => world.foreign("50s")),
      { leaseMs, after: "10s" },
    );
    world.crash();
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(world.time).toBeLessThanOrEqual(leaseMs + 10 * second + 2 * minute);
    expect(await recordsOf({ world, run })).not.toContain("step it");
  });
});

test("a step whose result ends the handler is recorded, and the run is cancelled, not completed", async () => {
  const { world, run } = await cancelled(
    database,
    async ({ step }, world) => step.run("it", () => world.foreign("20s")),
    {
      after: "10s",
    },
  );
  expect(await world.run(run)).toMatchObject({ status: "cancelled", result: undefined });
  expect(await recordsOf({ world, run })).toEqual(["step it", "closing "]);
});

test("fifty branches at work end, each is recorded once, and no other of their map begins", async () => {
  const begun = new Set<number>();
  const world = await worldOf(database, async ({ step }) =>
    step.map(
      "it",
      Array.from({ length: 60 }, (_, n) => n),
      (n, { step }) =>
        step.run("it", async () => {
          begun.add(n);
          await world.foreign("20s");
        }),
      { maxConcurrency: 50 },
    ),
  );
  const run = await world.start(tested);
  await world.pass("10s");
  await cancel(world, run);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", records: 51 });
  expect(begun.size).toBe(50);
  expect((await recordsOf({ world, run })).at(-1)).toBe("closing ");
  expect(world.time).toBeLessThan(2 * minute);
});

test("a race's loser that is at work is waited for, and then the run is cancelled", async () => {
  const { world, run } = await cancelled(
    database,
    async ({ step }, world) => {
      await step.race("it", [
        ({ step }) => step.sleep("short", "5s"),
        ({ step }) => step.run("long", () => world.foreign("30s"), { retry: { maxAttempts: 1 } }),
      ]);
      await step.sleep("nap", "1 day");
    },
    { after: "10s" },
  );
  expect(await world.run(run)).toMatchObject({ status: "cancelled" });
  expect(world.time).toBeLessThan(3 * minute);
});
