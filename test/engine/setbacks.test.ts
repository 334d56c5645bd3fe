/** A handler that waits too long for something of its own: its run is tried again, four times, before it is blocked. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;
const noon = Date.UTC(2026, 0, 1, 12);
const why =
  "the handler awaits something after a that is no step, and it took longer than a second. Put it into step.run";

/** When the handler got as far as its own wait, in whole minutes. */
const slow = async (slowTimes: number, rest: TestedHandler = async () => "done") => {
  const tries: number[] = [];
  const world = await worldOf(database, async (context) => {
    await context.step.run("a", () => 1);
    tries.push(Math.floor(world.time / minute));
    await world.foreign(tries.length <= slowTimes ? "1 day" : "100ms");
    return await rest(context);
  });
  return { world, tries, run: await world.start(tested) };
};

/** A run that is replayed in each turn. Its handler waits for something of its own first, too long while `wait.isLong`. */
const replayedEachTime = async (rest: TestedHandler) => {
  const wait = { isLong: false };
  const world = await worldOf(
    database,
    async (context) => {
      await world.foreign(wait.isLong ? "1 day" : "10ms");
      return await rest(context);
    },
    { warmRuns: 0 },
  );
  return { world, wait, run: await world.start(tested) };
};

describe("a handler that waits longer than a second for something that is no step", () => {
  test("is tried again after a minute, and says since when and why", async () => {
    const { world, tries, run } = await slow(1);
    await world.pass("10s");
    const view = await world.get(run.runId);
    expect(view).toMatchObject({ status: "retrying", blocked: undefined, setback: { reason: why, path: undefined } });
    expect(view.setback?.until).toEqual(new Date(noon + 2 * minute));
    expect(view.setback?.since.getTime()).toBeLessThan(noon + 2_000);
    expect(view.readyAt).toEqual(view.setback?.until);

    expect(await world.run(run)).toMatchObject({ status: "completed", result: "done", setback: undefined });
    expect(tries).toEqual([0, 2]);
  });

  test("is tried four times within some six hours, and then blocked until new code comes", async () => {
    const { world, tries, run } = await slow(5);
    expect(await world.run(run)).toMatchObject({
      status: "blocked",
      blocked: why,
      setback: undefined,
      dueAt: undefined,
    });
    expect(tries).toEqual([0, 2, 11, 61, 361]);
    const before = world.statements();
    await world.pass("1 day");
    expect(world.statements() - before).toBeLessThan(10);

    await world.tick({ isFirst: true });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "done", blocked: undefined });
  });

  test("is tried four times again, where new code waits too long as well", async () => {
    const { world, tries, run } = await slow(7);
    await world.run(run);
    await world.tick({ isFirst: true });
    await world.pass("10s");
    expect(await world.get(run.runId)).toMatchObject({ status: "retrying", setback: { reason: why } });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(tries).toHaveLength(8);
  });

  test("is looked at by ticks, and by no more than one for each try and its minute", async () => {
    const { world, run } = await slow(5);
    await world.pass("65 minutes");
    const before = world.statements();
    await world.pass("4 hours");
    expect(world.statements() - before).toBeLessThan(10);
    expect(await world.get(run.runId)).toMatchObject({ status: "retrying" });
  });

  test("begins to count anew where it got on in between", async () => {
    let waits = 0;
    const { world, run } = await slow(3, async ({ step }) => {
      await step.run("b", () => 1);
      waits += 1;
      await world.foreign(waits === 1 ? "1 day" : "1ms");
      return "done";
    });
    await world.pass("62 minutes");
    const { status, setback } = await world.get(run.runId);
    expect(status).toBe("retrying");
    expect(setback?.reason).toContain("after b ");
    expect(setback?.until.getTime()).toBeLessThan(noon + 65 * minute);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "done" });
  });

  test("in a replay of what it had passed before is tried again too", async () => {
    const { world, wait, run } = await replayedEachTime(async ({ step }) => {
      await step.run("a", () => 1);
      await step.sleep("nap", "1 hour");
      return "done";
    });
    await world.pass("1 minute");
    wait.isLong = true;
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject({
      status: "retrying",
      setback: { reason: "the history holds step a at position 1, where the code asks for nothing" },
    });
    wait.isLong = false;
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "done" });
  });

  test("is tried earlier when a signal comes that it waits for, which counts as none of the four", async () => {
    const { world, wait, run } = await replayedEachTime(async ({ step }) => await step.waitForSignal("go"));
    await world.pass("1 minute");
    wait.isLong = true;
    for (let number = 0; number < 8; number += 1) {
      await world.signal(run, tested, "go", number);
      await world.pass("5s");
    }
    expect(await world.get(run.runId)).toMatchObject({ status: "retrying", blocked: undefined });
    wait.isLong = false;
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 0 });
  });

  test("before its branch begins holds up that branch alone", async () => {
    const bodies: string[] = [];
    const { world, wait, run } = await replayedEachTime(async ({ step }) => {
      await step.run("a", () => 1);
      return await step.map("all", ["x", "y"], async (item, { step }) =>
        step.run(
          "it",
          ({ attempt }) => {
            bodies.push(`${item}${attempt}`);
            if (attempt === 1 && item === "x") throw new Error("later");
            return item;
          },
          { retry: { delay: "10 minutes", jitter: false } },
        ),
      );
    });
    await world.pass("5 minutes");
    wait.isLong = true;
    await world.pass("7 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "retrying", setback: { path: "all[0]/it" } });
    wait.isLong = false;
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["x", "y"], setback: undefined });
    expect(bodies).toEqual(["x1", "y1", "x2"]);
  });

  test("is not blocked after its last try if its run was cancelled during that", async () => {
    const { world, tries, run } = await slow(5);
    while (tries.length < 5) await world.pass("500ms");
    await world.ask((client) => client.cancel(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "cancelled", blocked: undefined, setback: undefined });
  });

  test("times out when its run does, however long it is until the next try", async () => {
    const contract = workflow({ name: "timed", version: 1, timeout: "30 minutes" });
    const world: World = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step }) => {
          await step.run("a", () => 1);
          await world.foreign(world.time < 30 * minute ? "1 day" : "10ms");
          await step.run("b", () => 1);
        }),
      ],
    });
    const run = await world.start(contract);
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
    expect(world.time).toBeLessThan(32 * minute);
  });
});
