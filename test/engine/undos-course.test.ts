/** How undos are carried out: one after the other within an invocation, each with its own timeout, and those of one history alone. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

describe("undos", () => {
  /** Fails after five steps. The third undo kills its process so many times. Answers the undos that began, and the invocations since the failure. */
  async function undoFive({ maxSteps, deaths }: { readonly maxSteps: number; readonly deaths: number }) {
    const begun: unknown[] = [];
    let [died, before] = [0, 0];
    const { world, view } = await play(
      database,
      async ({ step }, world) => {
        const compensate = async (n: number | undefined) => {
          begun.push(n);
          if (n === 2 && died++ < deaths) await world.die();
        };
        for (let n = 0; n < 5; n += 1) await step.run("book", () => n, { compensate });
        before ||= world.invocations;
        throw new Error("no");
      },
      { invocation: { maxSteps } },
    );
    expect(view).toMatchObject({ status: "failed", undos: { owed: 5, done: 5, failed: 0 } });
    return { begun, invocations: world.invocations - before };
  }

  test("go on within the budget of an invocation", async () => {
    expect(await undoFive({ maxSteps: 100, deaths: 0 })).toEqual({ begun: [4, 3, 2, 1, 0], invocations: 0 });
  });

  test("go on in the next invocation where the budget of one is used up", async () => {
    const { begun, invocations } = await undoFive({ maxSteps: 2, deaths: 0 });
    expect(begun).toEqual([4, 3, 2, 1, 0]);
    expect(invocations).toBeGreaterThanOrEqual(2);
  });

  test("are committed one by one, so that none is repeated when the process dies over the next one", async () => {
    expect((await undoFive({ maxSteps: 100, deaths: 1 })).begun).toEqual([4, 3, 2, 2, 1, 0]);
  });

  test("are given up at their own timeout, attempt by attempt, and the next one follows", async () => {
    const begun: number[] = [];
    const done: string[] = [];
    const { view } = await play(database, async ({ step }, world) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: {
          run: async (_, { abortSignal }) => {
            begun.push(world.time);
            await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
          },
          timeout: "3 minutes",
          retry: { maxAttempts: 2, delay: "1 minute", jitter: false },
        },
      });
      throw new Error("no");
    });
    expect(begun).toEqual([0, 4 * minute]);
    expect(done).toEqual(["undo a"]);
    expect(view).toMatchObject({
      status: "failed",
      error: { message: "no", data: { compensation: { failed: [{ step: "b", error: { name: "TimeoutError" } }] } } },
    });
  });
});

test("a run that continues as new undoes nothing, and its next history owes only what is done in it", async () => {
  const done: string[] = [];
  const lapping = workflow({ name: "lapping", version: 1, input: z.number() });
  const handler = lapping.handler(async ({ input, step }) => {
    await step.run("lap", () => void done.push(`lap ${input}`), { compensate: () => void done.push(`undo ${input}`) });
    await step.sleep("nap", "1 minute");
    if (input < 2) await step.continueAsNew(input + 1);
    throw new Error("no");
  });
  const world = await World.begin(database, { workflows: [handler] });
  const run = await world.start(lapping, 1);
  expect(await world.run(run)).toMatchObject({ status: "failed", epoch: 1, undos: { owed: 1, done: 1, failed: 0 } });
  expect(done).toEqual(["lap 1", "lap 2", "undo 2"]);
});

describe("a run that owes nothing ends with as many statements as one that completes, where", () => {
  async function statementsOf(end: () => void, act: (step: TestedStep) => Promise<unknown>) {
    const world = await worldOf(database, async ({ step }) => {
      await step.run("first", () => 1);
      await act(step);
      end();
    });
    const run = await world.start(tested);
    const before = world.statements();
    const { undos } = await world.run(run);
    expect(undos).toBeUndefined();
    return world.statements() - before;
  }

  test.each<[string, (step: TestedStep) => Promise<unknown>]>([
    ["no step can be undone", (step) => step.run("second", () => 2)],
    [
      "none that can be undone was asked for",
      async (step) => Number(await step.run("second", () => 2)) > 2 && step.run("third", () => 3, { compensate() {} }),
    ],
  ])("%s", async (_, act) => {
    const fail = () => {
      throw new Error("no");
    };
    expect(await statementsOf(fail, act)).toBe(await statementsOf(() => {}, act));
  });
});
