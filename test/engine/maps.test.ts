/** map and mapSettled: one branch an item, so many at a time. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play } from "./playing.ts";

const database = testDatabase();
const once = { retry: { maxAttempts: 1 } };

describe("map", () => {
  const items = [3, 1, 2];

  test("gives the results in the items' order, whatever the order in which they came", async () => {
    const { view } = await play(database, async ({ step }) =>
      step.map("each", items, async (minutes, { step, index }) => {
        await step.sleep("nap", minutes * 60_000);
        return [index, await step.run("it", () => minutes)];
      }),
    );
    expect(view.result).toEqual([
      [0, 3],
      [1, 1],
      [2, 2],
    ]);
  });

  test("of no items gives none", async () => {
    const { view } = await play(database, async ({ step }) => step.map("each", [], async () => 1));
    expect(view.result).toEqual([]);
  });

  test.each([
    [1, 6],
    [2, 3],
    [4, 2],
    [undefined, 1],
  ])("with a maxConcurrency of %s carries out no more bodies at a time", async (maxConcurrency, rounds) => {
    let underWay = 0;
    let most = 0;
    const { view, world } = await play(database, async ({ step }, world) =>
      step.map(
        "each",
        [1, 2, 3, 4, 5, 6],
        async (item, { step }) =>
          step.run("it", async () => {
            underWay += 1;
            most = Math.max(most, underWay);
            await world.foreign("10s");
            underWay -= 1;
            return item;
          }),
        maxConcurrency === undefined ? {} : { maxConcurrency },
      ),
    );
    expect(view.result).toEqual([1, 2, 3, 4, 5, 6]);
    expect(most).toBe(maxConcurrency ?? 6);
    expect(world.time).toBeGreaterThanOrEqual(rounds * 10_000);
    expect(world.time).toBeLessThan(rounds * 10_000 + 1_000);
  });

  test("keeps to its maxConcurrency over several steps an item, and where items fail or are tried again", async () => {
    let underWay = 0;
    let most = 0;
    const { view } = await play(
      database,
      async ({ step }, world) =>
        step.mapSettled(
          "each",
          Array.from({ length: 8 }, (_, index) => index),
          async (item, { step }) => {
            const work = async ({ attempt }: { attempt: number }) => {
              underWay += 1;
              most = Math.max(most, underWay);
              await world.foreign(1_000 * (1 + (item % 3)));
              underWay -= 1;
              if (item % 4 === 1 && attempt < 3) throw new Error("again");
              if (item === 6) throw new Error("for good");
              return item;
            };
            await step.run("first", work, { retry: { maxAttempts: 4, delay: "30s", jitter: false } });
            await step.sleep("nap", "1 minute");
            return step.run("second", work, { retry: { maxAttempts: 4, delay: "3s", jitter: false } });
          },
          { maxConcurrency: 3 },
        ),
      { isShuffled: true },
    );
    expect(view.status).toBe("completed");
    expect(view.result).toMatchObject(
      [0, 1, 2, 3, 4, 5, 6, 7].map((value) => (value === 6 ? { status: "rejected" } : { status: "fulfilled", value })),
    );
    expect(most).toBe(3);
  });

  test("of one-step items is continued once", async () => {
    const { view, world } = await play(database, async ({ step }) =>
      step.map(
        "each",
        Array.from({ length: 30 }, (_, index) => index),
        async (item, { step }) => step.run("it", () => item),
        {
          maxConcurrency: 7,
        },
      ),
    );
    expect(view.result).toHaveLength(30);
    expect(view.turn).toBe(3); // the first, which demands; the second, which ends; and the one that would come
    expect(world.calls.filter(({ port, what }) => port === "dispatch" && what.includes("run@"))).toHaveLength(2);
  });

  test("readies the next item with the result of the one before, without the scheduler", async () => {
    const { world } = await play(database, async ({ step }) =>
      step.map("each", [1, 2, 3, 4, 5], async (item, { step }) => step.run("it", () => item), { maxConcurrency: 1 }),
    );
    expect(world.time).toBe(0);
    expect(world.statements("list_due")).toBe(0);
    expect(world.statements()).toBe(2 + 2 * 5 + 4); // start, a claim and a finish for each item, and two of the run
  });

  test("rejects at the first failure, before the others are done", async () => {
    const times: number[] = [];
    const { view } = await play(database, async ({ step }, world) => {
      const failure = await step
        .map("each", [1, 2, 3], async (item, { step }) =>
          step.run(
            "it",
            async () => {
              if (item === 2) throw new Error("bad");
              await world.foreign("50s");
            },
            once,
          ),
        )
        .catch(String);
      times.push(world.time);
      return failure;
    });
    expect(view.result).toContain('step "each[1]/it" failed');
    expect(times[0]).toBeLessThan(1_000);
  });

  test("is not held back by an item that is tried again much later", async () => {
    const done: [item: number, time: number][] = [];
    const { view, world } = await play(database, async ({ step }, world) =>
      step.map("each", [1, 2, 3], async (item, { step }) => {
        await step.run(
          "it",
          ({ attempt }) => {
            if (item === 1 && attempt === 1) throw new Error("much later");
          },
          { retry: { delay: "1 hour", maxDelay: "1 hour", jitter: false } },
        );
        await step.run("then", () => done.push([item, world.time]));
        return item;
      }),
    );
    expect(view.result).toEqual([1, 2, 3]);
    expect(done.toSorted(([a, first], [b, second]) => first - second || a - b)).toEqual([
      [2, 0],
      [3, 0],
      [1, 3_600_000],
    ]);
    expect(world.time).toBe(3_600_000);
  });

  test("within a map counts its own bodies", async () => {
    const { view } = await play(database, async ({ step }) =>
      step.map(
        "outer",
        ["a", "b", "c"],
        async (letter, { step }) => {
          const inner = await step.map(
            "inner",
            [1, 2, 3],
            async (n, { step }) => step.run("it", () => `${letter}${n}`),
            {
              maxConcurrency: 2,
            },
          );
          return step.run("join", () => inner.join(""));
        },
        { maxConcurrency: 2 },
      ),
    );
    expect(view.result).toEqual(["a1a2a3", "b1b2b3", "c1c2c3"]);
  });

  test.each([
    ["items that are no array", { items: new Set([1]) as unknown as number[], each: async () => 1, options: {} }],
    ["a function that is none", { items: [1], each: 7 as unknown as () => Promise<number>, options: {} }],
    ["a maxConcurrency of 0", { items: [1], each: async () => 1, options: { maxConcurrency: 0 } }],
    ["a maxConcurrency of a half", { items: [1], each: async () => 1, options: { maxConcurrency: 0.5 } }],
  ])("refuses %s", async (_, { items, each, options }) => {
    const { view } = await play(database, async ({ step }) => step.map("each", items, each, options));
    expect(view).toMatchObject({ status: "failed", error: { code: "invalid_request" } });
  });
});

describe("mapSettled", () => {
  test("waits for every item, and tells how each ended", async () => {
    const { view } = await play(database, async ({ step }) =>
      step.mapSettled("each", [1, 2, 3], async (item, { step }) =>
        step.run(
          "it",
          () => {
            if (item === 2) throw new Error("bad");
            return item;
          },
          once,
        ),
      ),
    );
    expect(view.result).toMatchObject([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: { name: "StepError", step: "each[1]/it" } },
      { status: "fulfilled", value: 3 },
    ]);
  });
});
