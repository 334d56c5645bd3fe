/** Races: which branch wins `step.race`, and what becomes of the losers. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { failing, once } from "./failing.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("race", () => {
  test("is won by the first branch to settle", async () => {
    const { view } = await play(database, async ({ step }) =>
      step.race("first", [
        async ({ step }) => {
          await step.sleep("nap", "1 hour");
          return "slow";
        },
        async ({ step }) => {
          await step.sleep("nap", "1 minute");
          return "quick";
        },
      ]),
    );
    expect(view.result).toBe("quick");
  });

  test("is lost by a failure too, if that is first", async () => {
    const { view } = await play(database, async ({ step }) =>
      step
        .race("first", [
          async ({ step }) => step.waitForSignal("go"),
          async ({ step }) => step.run("bad", failing("bad"), once),
        ])
        .catch((error: unknown) => String(error)),
    );
    expect(view.result).toContain("bad");
  });

  test("releases its losers: they take no later signal, begin no attempt, and end no sleep", async () => {
    let attempts = 0;
    const world = await worldOf(database, async ({ step }) => {
      const winner = await step.race("first", [
        async ({ step }) => step.waitForSignal("go"),
        async ({ step }) =>
          step.run(
            "flaky",
            () => {
              attempts += 1;
              throw new Error("again");
            },
            { retry: { delay: "10 minutes", jitter: false } },
          ),
        async ({ step }) => step.sleep("nap", "1 day"),
        async ({ step }) => {
          await step.sleep("short nap", "1 minute");
          return "won";
        },
      ]);
      await step.sleep("pause", "2 hours");
      return [winner, await step.waitForSignal("go")];
    });
    const run = await world.start(tested);
    await world.pass("1 hour");
    expect((await world.history(run)).pending.map(({ path }) => path)).toEqual(["pause"]);
    await world.signal(run, tested, "go", "for the second wait");
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["won", "for the second wait"] });
    expect(attempts).toBe(1);
    expect(world.time).toBe(7_260_000);
  });

  test("leaves a loser its lease: what it did is recorded", async () => {
    const { view, world, run } = await play(database, async ({ step }, world) => {
      const winner = await step.race("first", [
        async ({ step }) => {
          await step.run("charge", async () => {
            await world.foreign("30s");
            return "c1";
          });
          await step.run("never", () => 0);
        },
        async ({ step }) => {
          await step.sleep("nap", "10s");
          return "quick";
        },
      ]);
      await step.run("next", () => 0);
      await step.sleep("pause", "1 hour");
      return winner;
    });
    expect(view.result).toBe("quick");
    const { records } = await world.history(run);
    expect(records.map(({ path, value }) => [path, value])).toEqual([
      ["first[1]/nap", undefined],
      ["next", 0],
      ["first[0]/charge", "c1"],
      ["pause", undefined],
    ]);
  });

  test("forgets a loser that died at work, once its lease is over", async () => {
    let bodies = 0;
    let crashes = 0;
    const { view, world, run } = await play(database, async ({ step }, world) => {
      const winner = await step.race("first", [
        async ({ step }) =>
          step.run(
            "charge",
            () => {
              bodies += 1;
              return world.foreign();
            },
            { timeout: "1 hour" },
          ),
        async ({ step }) => {
          await step.sleep("nap", "10s");
          return "quick";
        },
      ]);
      await step.run("next", () => (crashes++ === 0 ? world.die() : 0));
      await step.sleep("pause", "1 hour");
      return winner;
    });
    expect(view).toMatchObject({ status: "completed", result: "quick" });
    expect(bodies).toBe(1);
    expect((await world.history(run)).records.map(({ path }) => path)).toEqual(["first[1]/nap", "next", "pause"]);
  });

  test("within a race is released with it", async () => {
    const { view, world, run } = await play(database, async ({ step }) => {
      const winner = await step.race("outer", [
        async ({ step }) =>
          step.race("inner", [
            async ({ step }) => step.sleep("nap", "1 hour"),
            async ({ step }) => step.map("each", [1, 2], async (_, { step }) => step.waitForSignal("go")),
          ]),
        async ({ step }) => {
          await step.sleep("nap", "1 minute");
          return "won";
        },
      ]);
      await step.sleep("pause", "2 hours");
      return winner;
    });
    expect(view.result).toBe("won");
    expect((await world.history(run)).records.map(({ path }) => path)).toEqual(["outer[1]/nap", "pause"]);
  });

  test("without branches waits for ever, as Promise.race does", async () => {
    const { view } = await play(database, async ({ step }) => step.race("none", []));
    expect(view).toMatchObject({ status: "blocked", blocked: expect.stringContaining("that is no step") });
  });
});
