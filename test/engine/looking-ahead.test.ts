/** A process that begins, or whose database is back, looks for what will be ready soon: whoever was to dispatch it may be dead. */
import { type StepContext, workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

/** Its one process is killed and begins again at once. */
async function killedAfter(ms: number, handle: (times: { body: () => number }) => TestedHandler) {
  let bodies = 0;
  const world = await worldOf(database, handle({ body: () => ++bodies }), { platform: "node" });
  const run = await world.start(tested);
  await world.pass(ms);
  world.crash();
  const view = await world.run(run);
  return { view, world };
}

describe("a Node process that was killed and begins again at once", () => {
  test("wakes a run from a short sleep when that is over", async () => {
    const { view, world } = await killedAfter(10_000, () => async ({ step }) => {
      await step.sleep("nap", "40s");
    });
    expect(view.status).toBe("completed");
    expect(world.time).toBeGreaterThanOrEqual(40_000);
    expect(world.time).toBeLessThanOrEqual(41_000);
  });

  test("tries a step again when its time has come", async () => {
    const { view, world } = await killedAfter(10_000, ({ body }) => async ({ step }) => {
      const retry = { delay: "30s", backoff: 1, jitter: false } as const;
      await step.run("fails once", () => (body() === 1 ? Promise.reject(new Error("no")) : "yes"), { retry });
    });
    expect(view.status).toBe("completed");
    expect(world.time).toBeLessThanOrEqual(31_000);
  });

  test.each([
    ["a step", (step: TestedStep, work: () => Promise<void>) => step.run("long", work)],
    [
      "a branch",
      (step: TestedStep, work: () => Promise<void>) =>
        Promise.all([step.run("long", work), step.run("quick", () => 1)]),
    ],
  ])("begins %s anew within a minute, when the dead one's lease is over", async (_, demand) => {
    const world = await worldOf(
      database,
      async ({ step }) =>
        void (await demand(step, () => (world.deaths === 0 ? new Promise(() => {}) : Promise.resolve()))),
      { platform: "node" },
    );
    const run = await world.start(tested);
    await world.pass(10_000);
    const killedAt = world.time;
    world.crash();
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time - killedAt).toBeLessThanOrEqual(60_000);
  });

  test("begins a branch anew within a minute, also where another one of its run is ready when it looks", async () => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        const retry = { delay: "25s", backoff: 1, jitter: false } as const;
        const long = () => (world.deaths === 0 ? new Promise(() => {}) : Promise.resolve());
        const shaky = ({ attempt }: StepContext) => (attempt === 1 ? Promise.reject(new Error("no")) : "yes");
        await step.map("each", [long, shaky], (body, { step }) => step.run("work", body, { retry }));
      },
      { platform: "node" },
    );
    world.fate = ({ what }) =>
      what === "claim_turns" && world.time >= 25_000 && world.deaths === 0 ? "fails before" : "passes";
    const run = await world.start(tested);
    await world.pass(26_000);
    world.crash();
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBeLessThanOrEqual(26_000 + 60_000);
  });

  test("begins a step anew when the dead one's lease is over, though the run's timeout comes before that", async () => {
    const timed = workflow({ name: "timed", version: 1, timeout: "30s" });
    const world = await World.begin(database, {
      workflows: [timed.handler(async ({ step }) => void (await step.run("long", () => new Promise(() => {}))))],
      platform: "node",
    });
    await world.pass(20_000); // so that the motion minute comes long after the lease's end
    const run = await world.start(timed);
    await world.pass(10_000);
    const killedAt = world.time;
    world.crash();
    expect(await world.run(run)).toMatchObject({ error: { code: "run_timeout" } });
    expect(world.time - killedAt).toBeLessThanOrEqual(60_000);
  });

  test("moves no due instant by that look", async () => {
    const world = await worldOf(database, async ({ step }) => step.sleep("nap", "100s"), { platform: "node" });
    await world.start(tested);
    await world.pass("10s");
    const moves = world.statements("move_due");
    world.crash();
    await world.pass("10s");
    expect(world.statements("list_due")).toBeGreaterThan(0);
    expect(world.statements("move_due")).toBe(moves);
  });
});
