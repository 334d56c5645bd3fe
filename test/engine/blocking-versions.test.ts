/** Versions of a workflow: runs of a version that is not here wait for a deployment that has it. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("versions", () => {
  const version = (number: number) => {
    const contract = workflow({ name: "versioned", version: number });
    return { contract, workflow: contract.handler(async ({ step }) => step.run("it", () => number)) };
  };
  const [one, two] = [version(1), version(2)];

  test("that are not carried here are left alone, and picked up by a deployment that has them", async () => {
    const world = await World.begin(database, { workflows: [one.workflow] });
    const [first, second] = [await world.start(one.contract), await world.start(two.contract)];
    await world.run(first);
    await world.pass("1 day");
    expect(await world.get(first.runId)).toMatchObject({ status: "completed", result: 1 });
    expect(await world.get(second.runId)).toMatchObject({ status: "queued", turn: 1 });
    const before = world.statements();
    await world.pass("30 days");
    expect(world.statements()).toBe(before); // nobody is kept awake by it

    await world.deploy({ workflows: [one.workflow, two.workflow] });
    expect(await world.run(second)).toMatchObject({ status: "completed", result: 2 });
  });

  test("run side by side, each with its own code", async () => {
    const world = await World.begin(database, { workflows: [one.workflow, two.workflow], batch: 10 });
    const [first, second] = [await world.start(one.contract), await world.start(two.contract)];
    await world.run(first, second);
    expect(await world.get(first.runId)).toMatchObject({ result: 1 });
    expect(await world.get(second.runId)).toMatchObject({ result: 2 });
  });

  test("of a run that is asleep are picked up too", async () => {
    const contract = workflow({ name: "sleeper", version: 1 });
    const sleeper = contract.handler(async ({ step }) => step.sleep("nap", "1 hour"));
    const world = await World.begin(database, { workflows: [sleeper] });
    const run = await world.start(contract);
    await world.pass("1 minute");
    await world.deploy({ workflows: [one.workflow] });
    await world.pass("2 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued" });
    await world.deploy({ workflows: [sleeper] });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});
