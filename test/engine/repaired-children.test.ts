/** A run that was restarted or forked, and the runs that it had started before the cut. */
import { ChildFailedError, NonRetryableError, workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

const child = workflow({ name: "child", version: 1, input: z.object({ nr: z.number() }), output: z.string() });

/** Runs whose children sleep for as many hours as their number says, and of which some fail while they are `broken`. */
async function family(handle: TestedHandler) {
  const broken = new Set<number>();
  const world = await World.begin(database, {
    workflows: [
      tested.handler(handle),
      child.handler(async ({ input: { nr }, step }) => {
        await step.sleep("work", `${nr} hours`);
        if (broken.has(nr)) throw new NonRetryableError(`${nr} is broken`);
        return `child ${nr}`;
      }),
    ],
  });
  return { world, broken };
}

async function childrenOf(world: World) {
  const { runs } = await world.ask((client) => client.list({ workflow: child.name }));
  return runs;
}

test("a restart starts a run anew that was asked for before the cut and had failed", async () => {
  const { world, broken } = await family(({ step }) =>
    step.map("ship", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr })),
  );
  broken.add(2);
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  broken.clear();
  expect(await world.ask((client) => client.restart(run.runId, { from: "ship[1]/it" }))).toMatchObject({ kept: 1 });
  expect(await world.run(run)).toMatchObject({
    status: "completed",
    result: ["child 1", "child 2", "child 3"],
  });
  expect((await childrenOf(world)).map(({ status }) => status).sort()).toEqual([
    ...["cancelled", "completed", "completed", "completed", "failed"],
  ]);
});

test("a restart keeps the end of a run that was recorded, and finds the id of that run in its error", async () => {
  const ids: string[] = [];
  const { world, broken } = await family(async ({ step }) => {
    const noting = (error: unknown) => {
      if (error instanceof ChildFailedError) ids.push(error.runId);
    };
    await Promise.all([step.invoke("one", child, { nr: 1 }).catch(noting), step.invoke("two", child, { nr: 2 })]);
    return await step.run("last", () => "done");
  });
  broken.add(1);
  const run = await world.start(tested);
  await world.run(run);
  await world.ask((client) => client.restart(run.runId, { from: "two" }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "done", epoch: 1 });
  const failed = (await childrenOf(world)).filter(({ status }) => status === "failed");
  expect([...new Set(ids)]).toEqual(failed.map(({ runId }) => runId));
});

test("a run that was started anew is undone, if it was, and the one before the restart is not", async () => {
  const undone: string[] = [];
  const { world, broken } = await family(async ({ step }) => {
    const compensate = (_: unknown, { original }: { original: { runId: string } }) => void undone.push(original.runId);
    await Promise.all([
      step.invoke("two", child, { nr: 2 }, { compensate }),
      step.sleep("nap", "1 hour").then(() => step.invoke("three", child, { nr: 3 })),
    ]);
  });
  const run = await world.start(tested);
  await world.pass("90 minutes");
  await world.ask((client) => client.pause(run.runId));
  broken.add(3);
  await world.ask((client) => client.restart(run.runId, { from: "three" }));
  expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1 } });
  const { runs } = await world.ask((client) => client.list({ parent: run.runId, status: "completed" }));
  expect(undone).toEqual(runs.map(({ runId }) => runId));
});

test("a parent that failed after a restart is retried with the run that the restart has started", async () => {
  let isDown = true;
  const { world, broken } = await family(async ({ step }) => {
    const work = async () => {
      await step.sleep("nap", "1 hour");
      return await step.run("charge", () => {
        if (isDown) throw new NonRetryableError("down");
        return "charged";
      });
    };
    return await Promise.all([step.invoke("nine", child, { nr: 9 }, { onParentEnd: "abandon" }), work()]);
  });
  broken.add(9);
  const run = await world.start(tested);
  await world.run(run);
  await world.pass("10 hours"); // the run that it had started fails
  broken.clear();
  await world.ask((client) => client.restart(run.runId, { from: "charge" }));
  expect(await world.run(run)).toMatchObject({ status: "failed", epoch: 1 });
  isDown = false;
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["child 9", "charged"] });
  expect(await childrenOf(world)).toHaveLength(2);
});

/** Asks for a run of five hours, charges an hour later, and goes on to a last step. */
async function aForkable(end: "completed" | "failed") {
  const { world, broken } = await family(async ({ step }) => {
    const work = async () => {
      await step.sleep("nap", "1 hour");
      await step.run("charge", () => {
        if (end === "failed") throw new NonRetryableError("down");
      });
    };
    const [five] = await Promise.all([step.invoke("five", child, { nr: 5 }), work()]);
    return await step.run("last", () => `after ${five}`);
  });
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: end });
  const fork = (from: string) => world.ask((client) => client.fork(run.runId, { from }));
  return { world, broken, run, fork };
}

test.each([
  ["completed", "charge"],
  ["completed", "five"],
  ["failed", "charge"],
] as const)("a run that is %s is not forked from %s, where it waited for a run", async (end, from) => {
  const { run, fork } = await aForkable(end);
  await expect(fork(from)).rejects.toMatchObject({
    code: "not_applicable",
    message: `the run ${run.runId} waited for the end of five there`,
  });
});

test("a fork from before a run was started starts it anew, and one from behind its end keeps its result", async () => {
  const { world, fork } = await aForkable("completed");
  for (const [from, children] of [
    ["nap", 2],
    ["last", 2],
  ] as const) {
    const { runId } = await fork(from);
    expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "after child 5" });
    expect(await childrenOf(world)).toHaveLength(children);
  }
});

test("a fork from the place of a run starts that one anew, also where it had another one before a restart", async () => {
  const { world } = await family(async ({ step }) => {
    await step.run("first", () => 1);
    const two = await step.invoke("two", child, { nr: 2 });
    await step.sleep("nap", "1 hour");
    return two;
  });
  const run = await world.start(tested);
  await world.pass("1 hour");
  await world.ask((client) => client.pause(run.runId));
  await world.ask((client) => client.restart(run.runId, { from: "first" }));
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  for (const [from, children] of [
    ["nap", 2],
    ["two", 3],
  ] as const) {
    const { runId } = await world.ask((client) => client.fork(run.runId, { from }));
    expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "child 2" });
    expect(await childrenOf(world)).toHaveLength(children);
  }
});

test.each(["cancel", "abandon"] as const)(
  "a run that has lost its race hinders no fork from behind the race (%s)",
  async (onParentEnd) => {
    const { world } = await family(async ({ step }) => {
      await step.race("first", [
        ({ step }) => step.invoke("two", child, { nr: 2 }, { onParentEnd }),
        ({ step }) => step.sleep("nap", "1 hour"),
      ]);
      await step.sleep("rest", "3 hours");
      return await step.run("last", () => "done");
    });
    const run = await world.start(tested);
    await world.run(run);
    for (const from of ["rest", "last"]) {
      const { runId } = await world.ask((client) => client.fork(run.runId, { from }));
      expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "done" });
    }
    expect(await childrenOf(world)).toHaveLength(1);
  },
);
