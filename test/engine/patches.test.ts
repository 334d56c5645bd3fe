/** A change of code that runs under way do not meet (`step.patched`): by deploys and by deaths of processes. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { others, steps } from "./patching.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

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
