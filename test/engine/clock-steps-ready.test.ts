/** What is ready at once when the database's clock is set back, before anybody has claimed it. */
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedContext, tested, worldOf } from "./playing.ts";
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
