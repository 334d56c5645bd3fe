/** What is ready at once when the database's clock is set back, before anybody has claimed it. */
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type PlayOptions, type TestedContext, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const minute = 60_000;
let tokens: string[] = [];

/** Sets the database's clock back after the statement that this SQL function's next call is, before any other one. */
function setsClockBackAfter(world: World, name: string): void {
  let isNext = false;
  let isOver = false;
  world.fate = async ({ port, what }): Promise<Fate> => {
    if (port === "query" && isNext && !isOver) {
      isOver = true;
      await world.setClock(-5 * minute);
    }
    if (what === name) isNext = true;
    return "passes";
  };
}

async function readied(
  handle: (context: TestedContext) => Promise<unknown>,
  by: string,
  act?: (world: World, runId: string) => Promise<void>,
) {
  const world = await worldOf(database, handle);
  if (act === undefined) setsClockBackAfter(world, by);
  const run = await world.start(tested);
  if (act !== undefined) {
    await world.pass("2 minutes");
    setsClockBackAfter(world, by);
    await act(world, run.runId);
  }
  const before = world.time;
  const view = await world.run(run);
  return { view, lateMs: world.time - before };
}

beforeEach(() => {
  tokens = [];
});

describe("a database's clock that is set back by five minutes does not keep back", () => {
  test("a run that was started just before", async () => {
    expect(await readied(async ({ step }) => step.run("charge", () => "done"), "start_run")).toMatchObject({
      view: { status: "completed" },
      lateMs: 0,
    });
  });

  test("a run that a signal has just come to", async () => {
    const wait = async ({ step }: TestedContext) => step.waitForSignal("go", { timeout: "1 hour" });
    const signal = async (world: World, runId: string) => await world.signal({ runId }, tested, "go", "now");
    expect(await readied(wait, "send_signal", signal)).toMatchObject({ view: { result: "now" }, lateMs: 0 });
  });

  test("a run whose callback was just answered", async () => {
    const wait = async ({ step }: TestedContext) =>
      step.waitForCallback("approval", ({ token }) => void tokens.push(token));
    const answer = async (world: World) =>
      await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "yes", { contract: tested }));
    expect(await readied(wait, "answer_callback", answer)).toMatchObject({ view: { result: "yes" }, lateMs: 0 });
  });

  test.each([
    [
      "a run that goes on after a step",
      async ({ step }: TestedContext) => {
        await step.run("charge", () => "paid");
        return await step.run("ship", () => "sent");
      },
    ],
    [
      "branches that were just demanded",
      async ({ step }: TestedContext) =>
        await step.map("send", ["a", "b", "c"], (item, { step }) => step.run("mail", () => item), {
          maxConcurrency: 1,
        }),
    ],
    [
      "a step that is tried again at once",
      async ({ step }: TestedContext) =>
        await step.run(
          "charge",
          ({ attempt }) => {
            if (attempt === 1) throw new Error("not yet");
          },
          { retry: { delay: 0, jitter: false } },
        ),
    ],
    [
      "a branch that is tried again at once",
      async ({ step }: TestedContext) =>
        await Promise.all(
          ["a", "b"].map((name) =>
            step.run(
              name,
              ({ attempt }) => {
                if (attempt === 1) throw new Error("not yet");
              },
              { retry: { delay: 0, jitter: false } },
            ),
          ),
        ),
    ],
  ])("%s", async (_, handle) => {
    expect(await readied(handle, "finish_turns")).toMatchObject({ view: { status: "completed" }, lateMs: 0 });
  });
});

describe("a ready run whose dispatches were lost waits two minutes at most, though the clock is set back by five", () => {
  /** The platform takes no dispatch in the first ten seconds. Then the clock is set back. */
  async function aLostRun(options: PlayOptions) {
    const world = await worldOf(database, async ({ step }) => step.run("charge", () => "done"), options);
    world.fate = ({ port }) => (port === "dispatch" && world.time < 10_000 ? "fails before" : "passes");
    const run = await world.start(tested);
    await world.pass("10s");
    await world.setClock(-5 * minute);
    return { world, run };
  }

  async function goesOnInTime(world: World, run: { readonly runId: string }): Promise<void> {
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBeLessThanOrEqual(2 * minute + 5_000);
  }

  test.each(["cloud", "node"] as const)("on %s, when the process learns it by its alarm", async (platform) => {
    const { world, run } = await aLostRun({ platform });
    await goesOnInTime(world, run);
  });

  test.each(["cloud", "node"] as const)("on %s, when an answer to somebody else tells it before", async (platform) => {
    const { world, run } = await aLostRun({ platform });
    await world.start(tested);
    await goesOnInTime(world, run);
  });

  test.each(["cloud", "node"] as const)("on %s, when nobody who knew the time before is alive", async (platform) => {
    const { world, run } = await aLostRun({ platform });
    world.crash();
    await goesOnInTime(world, run);
  });

  test.each(["cloud", "node"] as const)(
    "on %s, when the process that was told dies over its tick",
    async (platform) => {
      const { world, run } = await aLostRun({ platform });
      world.fate = ({ what }) => (what === "move_due" && world.deaths === 0 ? "dies before" : "passes");
      await goesOnInTime(world, run);
      expect(world.deaths).toBe(1);
    },
  );

  test("when the tick fails that was told", async () => {
    const { world, run } = await aLostRun({ platform: "node" });
    let failures = 0;
    world.fate = ({ what }) => (what === "move_due" && ++failures <= 5 ? "fails before" : "passes");
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBeLessThanOrEqual(3 * minute + 5_000);
  });

  test("when no alarm can be armed as it is told", async () => {
    const { world, run } = await aLostRun({ platform: "node" });
    let alarms = 0;
    world.fate = ({ port }) => (port === "alarm" && ++alarms === 1 ? "fails before" : "passes");
    await goesOnInTime(world, run);
  });
});

test("a clock that was set back has what is ready dispatched once more, and not at each tick", async () => {
  const world = await worldOf(database, async ({ step }) => step.run("charge", () => world.foreign("40s")));
  await world.start(tested);
  await world.pass("10s");
  await world.setClock(-5 * minute);
  for (let ticks = 0; ticks < 3; ticks += 1) await world.tick();
  const moves = world.statements("move_due");
  await world.tick();
  expect(world.statements("move_due")).toBe(moves);
});
