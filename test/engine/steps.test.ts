/** Results of a step: what its handler gets, what cannot be stored, and what its body may throw and log. */
import { describe, expect, test } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { testDatabase } from "../postgres/database.ts";
import { bothWays } from "./both-ways.ts";
import { play } from "./playing.ts";

const database = testDatabase();

describe.each(bothWays)("a step %s", (_, runIt) => {
  test("gives what its body gave", async () => {
    const { view } = await play(database, async ({ step }) => runIt(step, async () => ({ charge: "c1" })));
    expect(view).toMatchObject({ status: "completed", result: { charge: "c1" } });
  });

  test.each([
    ["a function", { order: { items: [1, () => 2] } }, "order.items[1]", "unstorable_value"],
    ["an instance of a class", { order: new (class Order {})() }, "order", "unstorable_value"],
    ["too much", { order: "x".repeat(1024 * 1024) }, "", "value_too_large"],
  ])("fails at once when it gives %s, and names the place in the value", async (_kind, result, path, code) => {
    let bodies = 0;
    const { view } = await play(database, async ({ step }) =>
      runIt(step, () => {
        bodies += 1;
        return result;
      }),
    );
    expect(view).toMatchObject({ status: "failed", error: { name: "StepError", cause: { code } } });
    expect(view.error?.cause?.message).toContain(`the result of step "it"`);
    expect(view.error?.cause?.message).toContain(path);
    expect(bodies).toBe(1);
  });

  test.each([
    ["a text", "just so", "just so"],
    ["null", null, "null was thrown"],
    ["undefined", undefined, "undefined was thrown"],
    ["a lone surrogate and a NUL", new Error("\ud800\u0000"), "\ud800\u0000"],
  ])("may throw %s", async (_kind, thrown, message) => {
    const { view } = await play(database, async ({ step }) =>
      runIt(
        step,
        () => {
          throw thrown;
        },
        { retry: { maxAttempts: 1 } },
      ),
    );
    expect(view).toMatchObject({ status: "failed", error: { cause: { message } } });
  });

  test("may log from its body", async () => {
    const { world } = await play(database, async ({ step, log }) => {
      await step.run("first", () => {});
      await runIt(step, ({ attempt }) => {
        log.info("in the body", { attempt });
        if (attempt === 1) throw new Error("again");
      });
    });
    expect(world.logs.map(({ message, fields }) => [message, fields])).toEqual([
      ["in the body", { attempt: 1 }],
      ["in the body", { attempt: 2 }],
    ]);
  });
});

test("what a step gives is the same for its handler as after a replay", async () => {
  const result = {
    date: new Date(0),
    map: new Map([["a", new Set([1n])]]),
    undef: undefined,
    minus: -0,
    nan: Number.NaN,
  };
  const seen: string[] = [];
  const { view } = await play(
    database,
    async ({ step }) => {
      const value = await step.run("rich", () => result);
      seen.push(encode(value));
      value.date.setFullYear(1);
      await step.run("next", () => {});
      await step.sleep("nap", "1s");
      return value;
    },
    { warmRuns: 0 },
  );
  expect(view.status).toBe("completed");
  expect(seen).toHaveLength(3);
  expect(new Set(seen)).toEqual(new Set([encode(result)]));
});
