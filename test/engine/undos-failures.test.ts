/** Undos that fail for good: the others are carried out all the same, and the error of the run says which failed. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { ended } from "./undoing.ts";

const database = testDatabase();

describe("a run that fails", () => {
  test("goes on with the other undos when one fails for good, and says which failed", async () => {
    const done: string[] = [];
    const { view } = await ended(database, async ({ step }) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: { run: () => Promise.reject(new Error("gone")), retry: { maxAttempts: 2, delay: "1 second" } },
      });
      throw new Error("no");
    });
    expect(done).toEqual(["undo a"]);
    expect(view).toMatchObject({
      status: "failed",
      error: {
        message: "no",
        data: { compensation: { failed: [{ step: "b", error: { name: "Error", message: "gone" } }] } },
      },
    });
  });
});

describe("an undo", () => {
  test("that new code does not have fails for good, and the others are carried out", async () => {
    const done: string[] = [];
    const handle = (compensates: boolean) =>
      tested.handler(async ({ step }) => {
        await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
        await step.run("b", () => 1, {
          ...(compensates && {
            compensate: { run: () => Promise.reject(new Error("down")), retry: { delay: "5 minutes", jitter: false } },
          }),
        });
        throw new Error("no");
      });
    const world = await worldOf(database, async () => {});
    await world.deploy({ workflows: [handle(true)] });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [handle(false)] });
    const view = await world.run(run);
    expect(done).toEqual(["undo a"]);
    expect(view).toMatchObject({
      status: "failed",
      error: {
        message: "no",
        data: { compensation: { failed: [{ step: "b", error: { code: "compensation_missing" } }] } },
      },
    });
  });
});

describe("a run of which many undos failed", () => {
  const failing = (count: number, message: string, error: Error) =>
    play(database, async ({ step }) => {
      const run = () => Promise.reject(new Error(message));
      for (let n = 0; n < count; n += 1)
        await step.run(`s${n}`, () => n, { compensate: { run, retry: { maxAttempts: 1 } } });
      throw error;
    });

  test("says so of the first ten, and keeps what its own error says", async () => {
    const { view } = await failing(
      12,
      "gone ".repeat(2_000),
      Object.assign(new Error("no"), { data: { order: "o1" } }),
    );
    const failed = Array.from({ length: 10 }, (_, n) => ({ step: `s${11 - n}` }));
    expect(view).toMatchObject({ status: "failed", error: { data: { order: "o1", compensation: { failed } } } });
  });

  test("says so where the data of its own error leave no room", async () => {
    const data = { order: "o".repeat(8_000) };
    const { view } = await failing(10, "gone ".repeat(2_000), Object.assign(new Error("no"), { data }));
    expect(view).toMatchObject({
      status: "failed",
      error: { message: "no", data: { compensation: { failed: expect.any(Array) } } },
    });
  });
});
