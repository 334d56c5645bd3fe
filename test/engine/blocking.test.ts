/** Runs that are blocked, since the code cannot have made their history or since a stored value cannot be read. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("code that cannot have made the history", () => {
  const original: TestedHandler = async ({ step }) => {
    await step.run("charge", () => "c1");
    await step.sleep("nap", "1 hour");
    return step.run("ship", () => "s1");
  };
  const deployed = async (handle: TestedHandler) => {
    const world = await worldOf(database, original);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [tested.handler(handle)] });
    return { world, run, view: await world.run(run) };
  };

  test.each<[string, TestedHandler, string]>([
    [
      "a renamed step",
      async ({ step }) => step.run("pay", () => 1),
      "the history holds step charge at position 1, where the code asks for step pay",
    ],
    [
      "a step that became a sleep",
      async ({ step }) => step.sleep("charge", "1 hour"),
      "the history holds step charge at position 1, where the code asks for sleep charge",
    ],
    [
      "a step that is gone",
      async ({ step }) => step.sleep("nap", "1 hour"),
      "the history holds step charge at position 1, where the code asks for sleep nap",
    ],
    ["a handler that ends", async () => 1, "the history holds step charge at position 1, where the code has ended"],
    [
      "a handler that asks for nothing",
      async () => new Promise(() => {}),
      "the history holds step charge at position 1, where the code asks for nothing",
    ],
    [
      "a renamed sleep that the run waits for",
      async ({ step }) => {
        await step.run("charge", () => "c1");
        await step.sleep("rest", "1 hour");
      },
      "the run waits for sleep nap, which the code does not ask for",
    ],
  ])("blocks the run and names both: %s", async (_, handle, blocked) => {
    const { view, world, run } = await deployed(handle);
    expect(view).toMatchObject({ status: "blocked", blocked, dueAt: undefined });

    const calls = world.calls.length;
    await world.pass("1 day");
    expect(world.statements() - calls).toBeLessThan(10); // it is left alone

    await world.deploy({ workflows: [tested.handler(original)] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "s1", blocked: undefined });
    expect((await world.history(run)).records.map(({ path }) => path)).toEqual(["charge", "nap", "ship"]);
  });

  test("blocks a run whose branch it does not ask for", async () => {
    const branches =
      (name: string): TestedHandler =>
      async ({ step }) =>
        Promise.all([
          step.run("left", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
          step.run(name, ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
        ]);
    const world = await worldOf(database, branches("right"));
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [tested.handler(branches("wrong"))] });
    const view = await world.run(run);
    expect(view).toMatchObject({ status: "blocked" });
    expect(view.blocked).toContain("right, which the code does not ask for");
    await world.deploy({ workflows: [tested.handler(branches("right"))] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 1] });
  });

  test("does not block a run that dies while new code tries it: it is tried again", async () => {
    const { world, run } = await deployed(async () => "blocks");
    let deaths = 0;
    await world.deploy({
      workflows: [
        tested.handler(async (context) => {
          if (deaths++ < 2) return world.die();
          return original(context);
        }),
      ],
    });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "s1" });
    expect(deaths).toBeGreaterThan(2);
  });

  test("does not matter where it makes the same history", async () => {
    const { view } = await deployed(async ({ step }) => {
      const charge = await step.run("charge", () => "another body");
      await step.sleep("nap", "5 minutes");
      await step.run("ship", () => 1);
      return `${charge} and more`;
    });
    expect(view).toMatchObject({ status: "completed", result: "c1 and more" });
  });
});

describe("a stored value that cannot be read", () => {
  test("blocks its run with the reason, and the repaired row lets it go on", async () => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        const a = await step.run("a", () => 1);
        await step.sleep("nap", "1 hour");
        return a;
      },
      { warmRuns: 0 },
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    const set = "update layover.record set value = $1 where run_id = $2 and path = 'a'";
    await database.pool.query(set, ['1{"cut', run.runId]);
    const view = await world.run(run);
    expect(view.status).toBe("blocked");
    expect(view.blocked).toBe("the record of a cannot be read: its text is damaged");
    await database.pool.query(set, ["12", run.runId]);
    await world.tick({ isFirst: true });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 2 });
  });
});
