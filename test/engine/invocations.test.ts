/** What a run costs: invocations, statements, replays; and what a log shows of them. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedContext, tested, worldOf } from "./playing.ts";

const database = testDatabase();

const steps =
  (count: number) =>
  async ({ step }: TestedContext) => {
    let sum = 0;
    for (let number = 1; number <= count; number += 1) sum += await step.run("it", () => number);
    return sum;
  };

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

describe("a batch of turns", () => {
  test.each([
    ["one claim and one finish a step, where an invocation ends after each", 1, { claim_turns: 3, finish_turns: 3 }],
    ["one claim, and one statement a step", 100, { claim_turns: 1, finish_turns: 3 }],
  ])("is %s, whatever the number of runs", async (_, maxSteps, expected) => {
    const world = await worldOf(database, steps(3), { batch: 100, invocation: { maxSteps } });
    const runs = [];
    for (let number = 0; number < 100; number += 1) runs.push(await world.start(tested));
    const before = world.statements();
    await world.run(...runs);
    expect(world.statements() - before).toBe(expected.claim_turns + expected.finish_turns);
    expect(world.statements("claim_turns")).toBe(expected.claim_turns);
    for (const run of runs) expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: 6 });
  });

  test("carries each run on for itself, where they are about different things", async () => {
    const world = await worldOf(
      database,
      async ({ step, run }) => {
        const first = await step.run("first", () => 1);
        if (run.id === "sleeps") await step.sleep("nap", "1 hour");
        if (run.id === "waits") await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" });
        if (run.id === "fails") throw new Error("fails");
        if (run.id === "retries")
          await step.run("flaky", ({ attempt }) => {
            if (attempt === 1) throw new Error("again");
          });
        if (run.id === "fans out") await step.map("each", [1, 2, 3], (item, { step }) => step.run("it", () => item));
        return first + (await step.run("last", () => 1));
      },
      { batch: 100, invocation: { maxSteps: 100 } },
    );
    const ids = ["goes on", "sleeps", "goes on too", "waits", "fails", "retries", "fans out", "ends"];
    const runs = [];
    for (const id of ids) runs.push(await world.start(tested, undefined, { id }));
    await world.run(...runs);
    const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
    expect(views.map(({ result, status }) => result ?? status)).toEqual([2, 2, 2, 2, "failed", 2, 2, 2]);
    expect(world.errors).toEqual([]);
  });

  test("withholds nobody's result longer than 100 ms, because of one that is slow", async () => {
    const recorded: number[] = [];
    const world = await worldOf(
      database,
      async ({ step, run }) => {
        await step.run("it", () => (run.id === "slow" ? world.foreign("50s") : undefined));
        recorded.push(step.now().getTime() - Date.UTC(2026, 0, 1, 12));
        await step.run("next", () => recorded.push(world.time));
      },
      { batch: 100 },
    );
    const runs = [];
    for (const id of ["quick", "slow", "quick too"]) runs.push(await world.start(tested, undefined, { id }));
    await world.run(...runs);
    expect(recorded.toSorted((a, b) => a - b)).toEqual([0, 0, 100, 100, 50_000, 50_000]);
  });

  test("fails for none but the one that cannot be carried out", async () => {
    const world = await worldOf(database, steps(2), { batch: 100 });
    const runs = [];
    for (let number = 0; number < 5; number += 1) runs.push(await world.start(tested));
    await database.pool.query("update layover.run set input = $1 where id = $2", ["?", runs[2]?.runId]);
    await world.run(...runs);
    const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
    expect(views.map(({ status }) => status)).toEqual(["completed", "completed", "blocked", "completed", "completed"]);
    expect(views[2]?.blocked).toContain("the run's input cannot be read");
  });

  test("holds several branches of one run, and its continuation", async () => {
    const { view, world } = await play(
      database,
      async ({ step }) =>
        step.map(
          "each",
          Array.from({ length: 40 }, (_, index) => index),
          async (item, { step }) => {
            await step.run("first", () => item);
            return step.run("second", () => item);
          },
        ),
      { batch: 100 },
    );
    expect(view.result).toHaveLength(40);
    expect(world.invocations).toBe(5); // the run; 40 first steps; the run; 40 second steps; the run
    expect(world.statements("finish_turns")).toBe(5);
  });
});

describe("a log", () => {
  test.each([
    ["in memory", {}],
    ["replayed at every turn", { warmRuns: 0 }],
    ["several steps an invocation", { invocation: { maxSteps: 5 } }],
  ])("is written once per execution, not once per replay: %s", async (_, options) => {
    const { world, run } = await play(
      database,
      async ({ step, log }) => {
        log.debug("begun");
        await step.run("a", () => log.info("in a"));
        log.info("after a", { n: 1 });
        await step.sleep("nap", "1 hour");
        log.warn("woken");
        await step.map("each", [1, 2], async (item, { step }) => {
          log.info("before", { item });
          await step.run("it", () => log.info("in", { item }));
          log.info("behind", { item });
        });
        log.error("done");
      },
      options,
    );
    const lines = world.logs.map(({ level, message, fields }) =>
      `${level} ${message} ${JSON.stringify(fields) ?? ""}`.trim(),
    );
    expect(lines.toSorted()).toEqual(
      [
        "debug begun",
        "info in a",
        'info after a {"n":1}',
        "warn woken",
        'info before {"item":1}',
        'info before {"item":2}',
        'info in {"item":1}',
        'info in {"item":2}',
        'info behind {"item":1}',
        'info behind {"item":2}',
        "error done",
      ].toSorted(),
    );
    expect(world.logs[0]).toMatchObject({ runId: run.runId, workflow: "tested" });
  });
});

describe("a step that nobody awaits", () => {
  test("is told once, when the handler has returned without it", async () => {
    const { world, run, view } = await play(database, async ({ step }) => {
      await step.run("charge", () => 1);
      void step.run("audit", () => 2);
      return "done";
    });
    expect(view).toMatchObject({ status: "completed", result: "done" });
    expect(world.logs).toEqual([
      {
        level: "warn",
        message:
          'the handler returned, and nothing awaited step "audit": it may never be carried out. Write "await" before it',
        fields: { code: "not_awaited" },
        runId: run.runId,
        workflow: "tested",
      },
    ]);
  });
});

describe("an await that is no step", () => {
  test.each([
    ["in memory", {}],
    ["replayed at every turn", { warmRuns: 0 }],
  ])("is told once per place: %s", async (_, options) => {
    const { world, view } = await play(
      database,
      async ({ step }, world) => {
        await world.foreign(100);
        await step.run("charge", () => 1);
        await step.sleep("nap", "1 hour");
        await world.foreign(100);
        await step.run("ship", () => 2);
        return "done";
      },
      options,
    );
    expect(view).toMatchObject({ status: "completed", result: "done" });
    expect(world.logs.map(({ level, message, fields }) => [level, fields, message.slice(0, 50)])).toEqual([
      ["warn", { code: "foreign_await" }, "the handler awaits something at its beginning that"],
      ["warn", { code: "foreign_await" }, "the handler awaits something after nap that is no "],
    ]);
  });
});
