/** A change of code that runs under way do not meet (`step.patched`): by deploys, crashes, repairs and laps. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedContext, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

/** Tells which steps were carried out, in order. */
function steps() {
  const done: string[] = [];
  const act = async (step: TestedStep, name: string) => await step.run(name, () => void done.push(name));
  return { done, act };
}

/** Has the run go through a process that has not seen it yet. */
const others = { warmRuns: 0 };

describe("a change of code before a wait", () => {
  const shop = () => {
    const { done, act } = steps();
    const answers: boolean[] = [];
    const handle =
      (isNew: boolean): TestedHandler =>
      async ({ step }) => {
        await act(step, "charge");
        if (isNew) {
          const isPatched = step.patched("check");
          answers.push(isPatched);
          if (isPatched) await act(step, "check");
        }
        await step.waitForSignal("go");
        await act(step, "ship");
        await step.waitForSignal("other");
        return "done";
      };
    return { done, answers, before: handle(false), after: handle(true) };
  };

  test("is met by a new run, and the answer is the same in each replay", async () => {
    const { done, answers, after } = shop();
    const world = await worldOf(database, after, others);
    const run = await world.start(tested);
    await world.settle();
    await world.signal(run, tested, "go", 1);
    await world.settle();
    await world.signal(run, tested, "other", 1);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "check", "ship"]);
    expect(answers.length).toBeGreaterThan(2);
    expect(new Set(answers)).toEqual(new Set([true]));
  });

  test("is not met by a run that has passed it, which goes on by its old path", async () => {
    const { done, answers, before, after } = shop();
    const world = await worldOf(database, before, others);
    const run = await world.start(tested);
    await world.settle();
    await world.deploy({ workflows: [tested.handler(after)] });
    for (const name of ["go", "other"] as const) {
      await world.signal(run, tested, name, 1);
      await world.settle();
    }
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "ship"]);
    expect(new Set(answers)).toEqual(new Set([false]));
  });

  test("is not met after a process of the new code died, and the old code had the turn", async () => {
    const { done, answers, before, after } = shop();
    const world = await worldOf(database, after, others);
    world.fate = ({ what }) => (what === "finish_turns" ? "dies before" : "passes");
    const run = await world.start(tested);
    await world.settle();
    world.fate = () => "passes";
    await world.deploy({ workflows: [tested.handler(before)] });
    await world.pass("5 minutes");
    await world.deploy({ workflows: [tested.handler(after)] });
    answers.length = 0;
    for (const name of ["go", "other"] as const) {
      await world.signal(run, tested, name, 1);
      await world.settle();
    }
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done.filter((name) => name === "check")).toEqual([]);
    expect(new Set(answers)).toEqual(new Set([false]));
  });

  test.each(["dies before", "dies after", "fails before", "fails after"] as const)(
    "is met though the finish that keeps it %s",
    async (fate) => {
      const { done, after } = shop();
      let finishes = 0;
      const world = await worldOf(database, after, others);
      world.fate = ({ what }) => (what === "finish_turns" && ++finishes <= 3 ? fate : "passes");
      const run = await world.start(tested);
      await world.pass("20 minutes");
      await world.signal(run, tested, "go", 1);
      await world.pass("1 minute");
      await world.signal(run, tested, "other", 1);
      expect(await world.run(run)).toMatchObject({ status: "completed" });
      expect(new Set(done)).toEqual(new Set(["charge", "check", "ship"]));
      expect(done.at(-1)).toBe("ship");
    },
  );
});

test("a change of code that a run gets to only after the deploy is met", async () => {
  const { done, act } = steps();
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      await step.waitForSignal("go");
      if (isNew && step.patched("check")) await act(step, "check");
      await step.waitForSignal("other");
      return "done";
    };
  const world = await worldOf(database, handle(false), others);
  const run = await world.start(tested);
  await world.settle();
  await world.deploy({ workflows: [tested.handler(handle(true))] });
  await world.signal(run, tested, "go", 1);
  await world.settle();
  await world.signal(run, tested, "other", 1);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(done).toEqual(["check"]);
});

test("a process that holds the run in memory tells what other code did meanwhile from what it does itself", async () => {
  const { done, act } = steps();
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      await step.waitForSignal("go");
      await act(step, isNew && step.patched("path") ? "new" : "old");
      await step.waitForSignal("other");
      return "done";
    };
  const build = (id: string, isNew: boolean) => ({
    deployment: { name: "server", id },
    workflows: [tested.handler(handle(isNew))],
  });
  const world = await World.begin(database, { ...build("old", false), beside: [build("new", true)] });
  for (const id of ["old", "new"]) {
    world.served = id;
    await world.tick();
  }
  const run = await world.start(tested);
  await world.settle();
  world.served = "old";
  await world.signal(run, tested, "go", 1);
  await world.settle();
  world.served = "new";
  await world.signal(run, tested, "other", 1);
  await world.pass("5 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  expect(done).toEqual(["old"]);
});

test("in a loop the laps before the deploy keep the old path, and all after it have the new one", async () => {
  const { done, act } = steps();
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      for (let lap = 0; lap < 5; lap += 1) {
        await step.waitForSignal("go");
        await act(step, isNew && step.patched("path") ? `new ${lap}` : `old ${lap}`);
      }
      return "done";
    };
  const world = await worldOf(database, handle(false), others);
  const run = await world.start(tested);
  for (let lap = 0; lap < 5; lap += 1) {
    if (lap === 2) await world.deploy({ workflows: [tested.handler(handle(true))] });
    await world.signal(run, tested, "go", lap);
    await world.settle();
  }
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  expect(done).toEqual(["old 0", "old 1", "new 2", "new 3", "new 4"]);
});

test("the same name in another scope is another change", async () => {
  const { done, act } = steps();
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      const path = async (step: TestedStep, name: string) => {
        const isPatched = isNew && step.patched("path");
        await act(step, `${isPatched ? "new" : "old"} ${name}`);
      };
      await step.scope("first", async ({ step }) => await path(step, "first"));
      await step.waitForSignal("go");
      await step.scope("second", async ({ step }) => await path(step, "second"));
      await step.waitForSignal("other");
    };
  const world = await worldOf(database, handle(false), others);
  const run = await world.start(tested);
  await world.settle();
  await world.deploy({ workflows: [tested.handler(handle(true))] });
  for (const name of ["go", "other"] as const) {
    await world.signal(run, tested, name, 1);
    await world.settle();
  }
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  expect(done).toEqual(["old first", "new second"]);
});

test("branches side by side meet it each for itself, whoever carries them out", async () => {
  const { done, act } = steps();
  const world = await worldOf(
    database,
    async ({ step }) => {
      await step.map("item", ["a", "b", "c"], async (item, { step }) => {
        await step.run("begin", () => 1);
        if (step.patched("path")) await act(step, item);
        await step.sleep("pause", "1 minute");
      });
    },
    { ...others, platform: "cloud", processes: 2, batch: 1 },
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(done.toSorted()).toEqual(["a", "b", "c"]);
});

test("it is kept with a transaction, whose record is committed by itself", async () => {
  const answers: boolean[] = [];
  const world = await worldOf(
    database,
    async ({ step }) => {
      answers.push(step.patched("path"));
      await step.transaction("book", async () => "booked");
      await step.sleep("pause", "1 minute");
    },
    others,
  );
  const run = await world.start(tested);
  let calls = 0;
  world.fate = ({ what }) => (what === "finish_turns" && ++calls === 1 ? "dies before" : "passes");
  await world.pass("20 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  expect(answers.length).toBeGreaterThan(1);
  expect(new Set(answers)).toEqual(new Set([true]));
});

describe("a repair", () => {
  const shop = () => {
    const { done, act } = steps();
    const state = { isBroken: true, answers: [] as boolean[] };
    const handle =
      (isNew: boolean): TestedHandler =>
      async ({ step }) => {
        await act(step, "charge");
        if (isNew) state.answers.push(step.patched("path"));
        await act(step, "pack");
        await step.run(
          "ship",
          () => {
            done.push("ship");
            if (state.isBroken) throw new Error("no van");
          },
          { retry: { maxAttempts: 1 } },
        );
      };
    return { done, state, before: handle(false), after: handle(true) };
  };

  test.each(["retry", "restart"] as const)("by %s keeps the answers of what it keeps", async (verb) => {
    const { state, before, after } = shop();
    const world = await worldOf(database, after, others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(before)] });
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    state.answers = [];
    await world.ask((client) =>
      verb === "retry" ? client.retry(run.runId) : client.restart(run.runId, { from: "ship" }),
    );
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([true]));
  });

  test("keeps the old path of a run that has not met the change", async () => {
    const { state, before, after } = shop();
    const world = await worldOf(database, before, others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([false]));
  });

  test("that begins before the place meets the change, and so does a fork", async () => {
    const { state, before, after } = shop();
    const world = await worldOf(database, before, others);
    const run = await world.start(tested);
    await world.run(run);
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    const { runId: forked } = await world.ask((client) => client.fork(run.runId, { from: "pack" }));
    await world.pass("1 minute");
    expect(await world.get(forked)).toMatchObject({ status: "completed" });
    await world.ask((client) => client.restart(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([true]));
  });

  test("tries another path where the handler threw, since nothing came of the old one", async () => {
    const { done, act } = steps();
    const handle =
      (isNew: boolean): TestedHandler =>
      async ({ step }) => {
        await act(step, "charge");
        if (isNew && step.patched("path")) await act(step, "mend");
        else throw new Error("a mistake");
      };
    const world = await worldOf(database, handle(false), others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(handle(true))] });
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "mend"]);
  });
});

test("a run that continues as new meets each change anew", async () => {
  const answers: [unknown, boolean][] = [];
  const isPatched = (isNew: boolean, { step }: TestedContext) => isNew && step.patched("path");
  let lap = 0;
  const handle =
    (isNew: boolean): TestedHandler =>
    async (context) => {
      const { step } = context;
      answers.push([lap, isPatched(isNew, context)]);
      await step.waitForSignal("go");
      if (lap < 2) {
        lap += 1;
        await step.continueAsNew();
      }
    };
  const world = await worldOf(database, handle(false), others);
  const run = await world.start(tested);
  for (const isNew of [false, true, true]) {
    await world.settle();
    await world.deploy({ workflows: [tested.handler(handle(isNew))] });
    await world.signal(run, tested, "go", 1);
    await world.pass("5 minutes");
  }
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  const inLap = (wanted: number) => new Set(answers.filter(([at]) => at === wanted).map(([, answer]) => answer));
  expect([inLap(0), inLap(2)]).toEqual([new Set([false]), new Set([true])]);
});

test("in a body it is refused, as every verb of `step` is", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.run("body", () => step.patched("path"), { retry: { maxAttempts: 1 } });
  });
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { message: expect.stringContaining("body") } });
});
