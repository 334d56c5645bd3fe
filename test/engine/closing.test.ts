/** `step.close`: no signal that was accepted is lost at the end of a run. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();

/** Takes what is there until nothing is, and closes the name. */
async function drain(step: TestedStep): Promise<unknown[]> {
  const taken: unknown[] = [];
  do {
    for (;;) {
      const one = await step.waitForSignal("go", { timeout: 0, onTimeout: "null" });
      if (one === null) break;
      taken.push(one);
    }
  } while (!(await step.close("go")));
  return taken;
}

test.each([
  ["in memory", {}],
  ["replayed at every turn", { warmRuns: 0 }],
  ["several steps an invocation", { invocation: { maxSteps: 5 } }],
])("a run takes what came before it closes the name, and refuses what comes later: %s", async (_, options) => {
  const world = await worldOf(
    database,
    async ({ step }) => {
      await step.sleep("nap", "1 hour");
      const taken = await drain(step);
      await step.sleep("night", "8 hours");
      return taken;
    },
    options,
  );
  const run = await world.start(tested);
  await world.signal(run, tested, "go", 1);
  await world.signal(run, tested, "go", 2);
  await world.pass("2 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "sleeping", closed: ["go"], untaken: {} });
  await expect(world.signal(run, tested, "go", 3)).rejects.toMatchObject({
    code: "signal_closed",
    message: `the run ${run.runId} takes no more signal "go"`,
  });
  await world.signal(run, tested, "other", 4);
  expect(await world.get(run.runId)).toMatchObject({ untaken: { other: 1 } });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 2], untaken: { other: 1 } });
  const closes = (await world.history(run)).records.filter(({ kind }) => kind === "close");
  expect(closes).toMatchObject([{ path: "go", occurrence: 4, value: true }]);
});

test("a signal that comes during the last step is taken, not swallowed by the end", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.run("work", () => world.foreign("1 minute"));
    return await drain(step);
  });
  const run = await world.start(tested);
  await world.pass("30 seconds");
  await world.signal(run, tested, "go", "late");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["late"], untaken: {} });
});

test("a signal of before the database's clock was set back is taken", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.sleep("nap", "30 seconds");
    return await drain(step);
  });
  const run = await world.start(tested);
  await world.ask((client) => client.pause(run.runId));
  await world.pass("1 minute");
  await world.signal(run, tested, "go", "early");
  await world.setClock(-60_000);
  await world.ask((client) => client.resume(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["early"], untaken: {} });
});

test("the same signal again is told that it was sent, also after its name is closed", async () => {
  const world = await worldOf(database, async ({ step }) => {
    const taken = await drain(step);
    await step.sleep("nap", "1 hour");
    return taken;
  });
  const run = await world.start(tested);
  const signalId = world.chance.uuid();
  await world.signal(run, tested, "go", 1, { signalId });
  await world.pass("1 minute");
  expect((await world.get(run.runId)).closed).toEqual(["go"]);
  await world.signal(run, tested, "go", 1, { signalId });
});

test("a handler that waits for a signal after it closed the name is refused", async () => {
  const { view } = await play(database, async ({ step }) => {
    await step.close("go");
    return step.waitForSignal("go");
  });
  expect(view).toMatchObject({ status: "failed", error: { message: 'the signal "go" is closed' } });
});

test("a run that is cancelled closes nothing, and a loser of a race does not either", async () => {
  const { view, world, run } = await play(database, async ({ step }) =>
    step.race("first", [
      async ({ step }) => step.sleep("nap", "1 second").then(() => "nap"),
      async ({ step }) => step.sleep("night", "1 hour").then(() => step.close("go")),
    ]),
  );
  expect(view).toMatchObject({ status: "completed", result: "nap", closed: [] });
  expect((await world.history(run)).records).toHaveLength(1);
});
