/** What a run costs: the invocations and the statements of steps, of sleeps and of waits. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { steps } from "./summing.ts";

const database = testDatabase();

describe.each([1, 2, 7, 20])("%i steps in a row", (count) => {
  test.each([
    ["in memory", 1_000],
    ["replayed at every turn", 0],
  ])("take as many invocations, and two statements each, %s", async (_, warmRuns) => {
    const world = await worldOf(database, steps(count), { warmRuns });
    const run = await world.start(tested);
    const before = world.statements();
    expect(await world.run(run)).toMatchObject({ status: "completed", result: (count * (count + 1)) / 2 });
    expect(world.invocations).toBe(count);
    expect(world.statements() - before).toBe(2 * count);
    expect(world.calls.filter(({ port }) => port === "alarm")).toHaveLength(1);
    expect(world.calls.filter(({ port }) => port === "dispatch")).toHaveLength(count);
  });

  test("take one statement each, and one more, where an invocation carries out all of them", async () => {
    const world = await worldOf(database, steps(count), { invocation: { maxSteps: 100 } });
    const run = await world.start(tested);
    const before = world.statements();
    expect(await world.run(run)).toMatchObject({ status: "completed", result: (count * (count + 1)) / 2 });
    expect(world.invocations).toBe(1);
    expect(world.statements() - before).toBe(count + 1);
  });
});

test("sleeps and waits take an invocation only where nothing else is done in it", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.run("a", () => 1);
    await step.sleep("nap", "1 hour");
    await step.run("b", () => 2);
    await step.waitForSignal("go");
    await step.sleep("nothing", 0);
    await step.run("c", () => 3);
    return step.waitForSignal("other", { timeout: "30s", onTimeout: "null" });
  });
  const run = await world.start(tested);
  await world.pass("2 hours");
  await world.signal(run, tested, "go", 1);
  expect((await world.run(run)).status).toBe("completed");
  expect(world.invocations).toBe(4); // a; b; go, nothing and c; the timeout, alone
});

test("an idle run costs nothing: a day of waiting is no statement", async () => {
  const world = await worldOf(database, async ({ step }) => step.waitForSignal("go"));
  const run = await world.start(tested);
  await world.pass("5 minutes");
  const before = world.calls.length;
  await world.pass("1 day");
  expect(world.calls.length).toBe(before);
  await world.signal(run, tested, "go", 1);
  expect((await world.run(run)).status).toBe("completed");
});

test("a sleeping run costs nothing until its alarm rings", async () => {
  const world = await worldOf(database, async ({ step }) => step.sleep("nap", "30 days"));
  const run = await world.start(tested);
  await world.pass("5 minutes");
  const before = world.calls.length;
  await world.pass("29 days");
  expect(world.calls.length).toBe(before);
  expect((await world.run(run)).status).toBe("completed");
});

describe("an invocation that carries out several steps", () => {
  test("commits each as it completes: a crash repeats no more than the one at work", async () => {
    const bodies: number[] = [];
    const { view, world } = await play(
      database,
      async ({ step }, world) => {
        for (let number = 1; number <= 5; number += 1) {
          await step.run("it", () => {
            bodies.push(number);
            return number === 3 && bodies.length === 3 ? world.die() : undefined;
          });
        }
      },
      { invocation: { maxSteps: 10 } },
    );
    expect(view.status).toBe("completed");
    expect(bodies).toEqual([1, 2, 3, 3, 4, 5]);
    expect(world.deaths).toBe(1);
  });

  test("begins no more than its number of steps", async () => {
    const { world } = await play(database, steps(7), { invocation: { maxSteps: 3 } });
    expect(world.invocations).toBe(3);
  });

  test("begins no step beyond its budget of time", async () => {
    const { world, view } = await play(
      database,
      async ({ step }, world) => {
        for (let number = 1; number <= 6; number += 1) await step.run("it", () => world.foreign("4s"));
      },
      { invocation: { maxSteps: 10, budgetMs: 10_000 } },
    );
    expect(view.status).toBe("completed");
    expect(world.invocations).toBe(2);
  });

  test("renews the lease of each of them", async () => {
    const aborted: boolean[] = [];
    let bodies = 0;
    const { view } = await play(
      database,
      async ({ step }, world) => {
        for (let number = 1; number <= 4; number += 1) {
          await step.run(
            "it",
            async ({ abortSignal }) => {
              bodies += 1;
              await world.foreign(number % 2 === 0 ? "4 minutes" : "5s");
              aborted.push(abortSignal.aborted);
            },
            { timeout: "10 minutes" },
          );
        }
      },
      { invocation: { maxSteps: 10, budgetMs: 3_600_000 } },
    );
    expect(view.status).toBe("completed");
    expect(aborted).toEqual([false, false, false, false]);
    expect(bodies).toBe(4);
  });

  test("goes on through sleeps of no time and signals that are there, and ends where the run waits", async () => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        const taken: unknown[] = [];
        for (let number = 1; number <= 3; number += 1) {
          await step.run("it", () => number);
          taken.push(await step.waitForSignal("go"));
        }
        return taken;
      },
      { invocation: { maxSteps: 10 } },
    );
    const run = await world.start(tested);
    await world.signal(run, tested, "go", 1);
    await world.signal(run, tested, "go", 2);
    await world.settle();
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
    await world.signal(run, tested, "go", 3);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 2, 3] });
  });
});
