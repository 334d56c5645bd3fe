/** Calls whose answer never comes: nobody waits for one of them for ever. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();

describe("a sleeper wakes", () => {
  test.each(["list_due", "move_due", "prune_runs"])("though the tick's %s is never answered", async (name) => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "10 minutes");
      return step.run("wake", () => "rested");
    });
    let lost = 0;
    world.fate = ({ what }) => (what === name && lost++ === 0 ? "is never answered" : "passes");
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "rested" });
    await world.pass("5 minutes");
    expect(lost).toBeGreaterThan(1);
    expect(world.time).toBeLessThanOrEqual(20 * 60_000);
  });

  test("though its process armed an alarm and never heard of it", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "10 minutes");
      return step.run("wake", () => "rested");
    });
    const run = await world.start(tested);
    let lost = 0;
    world.fate = ({ port }) => (port === "alarm" && lost++ === 0 ? "is never answered" : "passes");
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "rested" });
    expect(lost).toBeGreaterThan(1);
  });
});

describe("a dispatch that is never answered", () => {
  const unheard: World["fate"] = ({ port }) => (port === "dispatch" ? "is never answered" : "passes");

  test("keeps nobody waiting who starts a run", async () => {
    const world = await worldOf(database, async ({ step }) => step.run("work", () => "done"));
    world.fate = unheard;
    const run = await world.start(tested);
    expect(world.time).toBeLessThanOrEqual(15_000);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });

  test("ends the renewal of the lease of the turn that it follows", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.run("first", () => 1);
      await step.run("second", () => 2);
    });
    const run = await world.start(tested);
    world.fate = unheard;
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    await world.pass("5 minutes");
    expect(world.statements("renew_leases")).toBe(0);
  });
});

test("a tick that gets no further is over after a minute, and its late answer moves nothing", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.sleep("nap", "10 minutes");
  });
  await world.start(tested);
  await world.pass("1 minute");
  world.fate = ({ what }) => (what === "list_due" ? "is never answered" : "passes");
  const ticked = world.tick();
  await expect(ticked).resolves.toBeUndefined();
  expect(world.time).toBe(120_000);
  const moves = world.statements("move_due");
  await world.pass("5s");
  expect(world.statements("move_due")).toBe(moves);
});

test("a turn that was dispatched in vain for hours, and whose process then dies, begins again within minutes", async () => {
  const begunAt: number[] = [];
  const world = await worldOf(database, async ({ step }) =>
    step.run("charge", async () => {
      begunAt.push(world.time);
      if (begunAt.length === 1) await world.die();
      return "charged";
    }),
  );
  world.fate = ({ port }) => (port === "dispatch" && world.time < 3 * 3_600_000 ? "fails before" : "passes");
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "charged" });
  const [first = 0, second = 0] = begunAt;
  expect(first).toBeGreaterThan(3 * 3_600_000);
  expect(second - first).toBeLessThan(4 * 60_000);
});

test("a branch that was dispatched in vain for hours, and whose process then dies, begins again within minutes", async () => {
  const begunAt: number[] = [];
  const world = await worldOf(database, async ({ step }) =>
    Promise.all([
      step.run("charge", async () => {
        begunAt.push(world.time);
        if (begunAt.length === 1) await world.die();
        return "charged";
      }),
      step.sleep("nap", "2 days"),
    ]),
  );
  const refused = (what: string) => what.includes("charge") && world.time < 3 * 3_600_000;
  world.fate = ({ port, what }) => (port === "dispatch" && refused(what) ? "fails before" : "passes");
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  const [first = 0, second = 0] = begunAt;
  expect(first).toBeGreaterThan(3 * 3_600_000);
  expect(second - first).toBeLessThan(4 * 60_000);
});

test("a step that follows a finish whose answer was lost for long is not told to stop", async () => {
  const aborted: boolean[] = [];
  const world = await worldOf(
    database,
    async ({ step }) => {
      await step.run("first", () => 1);
      await step.run("second", ({ abortSignal }) => void aborted.push(abortSignal.aborted));
    },
    { invocation: { maxSteps: 10, budgetMs: 120_000 } },
  );
  // The renewal at half-time finds the lease gone: the first finish has claimed the next turn, and nobody knows yet.
  world.fate = ({ what }) => (what === "finish_turns" && world.time < 31_000 ? "fails after" : "passes");
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(world.statements("renew_leases")).toBeGreaterThan(0);
  expect(aborted).toEqual([false]);
});

describe("a run is dispatched at once, though the first answer was lost that told of its turn,", () => {
  const loseFirst = (world: World, lost: string) => {
    let isLost = false;
    world.fate = ({ what }) => {
      if (what !== lost || isLost) return "passes";
      isLost = true;
      return "fails after";
    };
  };

  test("when a signal wakes it", async () => {
    const world = await worldOf(database, async ({ step }) => await step.waitForSignal("go"));
    const run = await world.start(tested);
    await world.pass("3 minutes");
    loseFirst(world, "send_signal");
    await world.ask((client) => client.signal(run.runId, "go", "now", { contract: tested }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "now" });
    expect(world.time).toBeLessThan(3 * 60_000 + 1_000);
  });

  test("when the answer to its callback wakes it", async () => {
    let token = "";
    const world = await worldOf(
      database,
      async ({ step }) =>
        await step.waitForCallback("approval", (callback) => {
          token = callback.token;
        }),
    );
    const run = await world.start(tested);
    await world.pass("3 minutes");
    loseFirst(world, "answer_callback");
    await world.ask((client) => client.resolveCallback(token, "yes", { contract: tested }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "yes" });
    expect(world.time).toBeLessThan(3 * 60_000 + 1_000);
  });
});
