/** Places at which a change of code may stand (`step.patched`): loops, scopes, branches, laps, beside a transaction; not in a body. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { others, steps } from "./patching.ts";
import { type TestedContext, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();

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

test("branches that were asked for before a change above them was deployed keep the old path, and so does their run", async () => {
  const answers: boolean[] = [];
  const done: string[] = [];
  let isDown = true;
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      const isPatched = isNew && step.patched("path");
      if (isNew) answers.push(isPatched);
      await step.map("item", ["a", "b"], async (item, { step }) => {
        const name = `${isPatched ? "new" : "old"} ${item}`;
        await step.run(name, () => {
          if (isDown) throw new Error("down");
          done.push(name);
        });
      });
    };
  const world = await worldOf(database, handle(false), { ...others, platform: "cloud", processes: 2, batch: 1 });
  const run = await world.start(tested);
  await world.settle();
  isDown = false;
  await world.deploy({ workflows: [tested.handler(handle(true))] });
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(done.toSorted()).toEqual(["old a", "old b"]);
  expect(new Set(answers)).toEqual(new Set([false]));
  const { rows } = await database.pool.query("select path from layover.patch where run_id = $1", [run.runId]);
  expect(rows).toEqual([]);
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
