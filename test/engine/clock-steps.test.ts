/** The database's clock is set while runs sleep, as after a failover to a server whose clock is off. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

/** A run that sleeps for half an hour, and where somebody uses the database each minute: the process sees the step. */
async function aSleeper() {
  const woken: number[] = [];
  const world = await worldOf(database, async ({ step }) => {
    await step.sleep("nap", "30 minutes");
    await step.run("wake", () => woken.push(world.now));
  });
  const began = world.now;
  const run = await world.start(tested);
  await world.pass("1 minute");
  return { world, run, woken, due: began + 30 * minute };
}

describe.each([
  ["back", -5 * minute],
  ["forward", 5 * minute],
])("a database's clock that is set %s by five minutes", (_, step) => {
  test("wakes a sleeper by its new time, where an answer tells of it", async () => {
    const { world, run, woken, due } = await aSleeper();
    await world.setClock(step);
    await world.tick();
    expect((await world.run(run)).status).toBe("completed");
    expect(woken[0]).toBeGreaterThanOrEqual(due);
    expect(woken[0]).toBeLessThanOrEqual(due + 2 * minute);
  });

  test("wakes a sleeper at the latest when its alarm rings by the host's clock, where no answer tells of it", async () => {
    const { world, run, woken, due } = await aSleeper();
    await world.setClock(step);
    expect((await world.run(run)).status).toBe("completed");
    expect(woken[0]).toBeGreaterThanOrEqual(due);
    expect(woken[0]).toBeLessThanOrEqual(due + Math.max(step, 0) + 2 * minute);
  });

  test("leaves no run behind that is in motion", async () => {
    const world = await worldOf(database, async ({ step: { run } }) => {
      for (let number = 0; number < 5; number += 1) await run(`step ${number}`, () => world.foreign("20s"));
    });
    const run = await world.start(tested);
    await world.pass("50s");
    await world.setClock(step);
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBeLessThanOrEqual(100_000 + 5 * minute);
  });
});

test("signals are taken in the order of their arrival, though the clock was set back between them", async () => {
  const world = await worldOf(database, async ({ step }) =>
    Promise.all([step.waitForSignal("go"), step.waitForSignal("go")]),
  );
  const run = await world.start(tested);
  await world.settle();
  await world.ask((client) => client.pause(run.runId));
  await world.signal(run, tested, "go", "first");
  await world.setClock(-minute);
  await world.signal(run, tested, "go", "second");
  await world.ask((client) => client.resume(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["first", "second"] });
  expect((await world.history(run)).records.map(({ value }) => value)).toEqual(["first", "second"]);
});

test("a child's result counts that came in time, though the clock was ahead when it came", async () => {
  const child = workflow({ name: "child", version: 1, input: z.number() });
  const double = child.handler(async ({ input, step }) => step.run("double", () => input * 2));
  const invoking = tested.handler(async ({ step }) => step.invoke("twice", child, 2, { timeout: "1 minute" }));
  const world: World = await World.begin(database, { workflows: [invoking, double] });
  const run = await world.start(tested);
  await world.ask((client) => client.pauseWorkflow(child.name));
  await world.pass("20 seconds");
  await world.ask((client) => client.pause(run.runId));
  await world.setClock(90_000);
  await world.ask((client) => client.resumeWorkflow(child.name));
  await world.settle();
  await world.setClock(-90_000);
  await world.ask((client) => client.resume(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 4 });
});

test("what an earlier process has armed wakes in time, though the clock was set back after its end", async () => {
  const napping = workflow({ name: "napping", version: 1, input: z.number() });
  const woken: number[] = [];
  const handler = napping.handler(async ({ input, step }) => {
    await step.sleepUntil("nap", input);
    await step.run("wake", () => void woken.push(world.now));
  });
  const world: World = await World.begin(database, { workflows: [handler] });
  const due = [world.now + 70 * minute, world.now + 80 * minute];
  const runs = [];
  for (const at of due) runs.push(await world.start(napping, at));
  await world.pass("10 minutes");
  // The next process arms the first instant alone. The alarm for the second one rings an hour too early, and is gone.
  await world.deploy({});
  await world.setClock(-60 * minute);
  await world.run(...runs);
  for (const [index, at] of due.entries()) {
    expect(woken[index]).toBeGreaterThanOrEqual(at);
    expect(woken[index]).toBeLessThanOrEqual(at + 2 * minute);
  }
});
