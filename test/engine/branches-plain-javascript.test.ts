/** Plain JavaScript in a handler: the combinators of promises, `try` and loops, and a step that nobody awaits. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { failing, once } from "./failing.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("plain JavaScript", () => {
  test("Promise.all, any and allSettled work", async () => {
    const { view } = await play(database, async ({ step }) => [
      await Promise.all([step.run("a", () => 1), step.run("b", () => 2)]),
      await Promise.any([step.run("c", failing("c"), once), step.run("d", () => 3)]),
      await Promise.any([step.run("e", failing("e"), once), step.run("f", failing("f"), once)]).catch(
        (error: unknown) => Object(error).errors.length,
      ),
      (await Promise.allSettled([step.run("g", failing("g"), once), step.run("h", () => 4)])).map(
        ({ status }) => status,
      ),
    ]);
    expect(view.result).toEqual([[1, 2], 3, 2, ["rejected", "fulfilled"]]);
  });

  test("Promise.race works; its losers stay until the run is over", async () => {
    const world = await worldOf(database, async ({ step }) => {
      const winner = await Promise.race([
        step.sleep("short", "1 minute").then(() => "short"),
        step.waitForSignal("go"),
      ]);
      await step.sleep("pause", "1 hour");
      return [winner, await step.waitForSignal("other")];
    });
    const run = await world.start(tested);
    await world.pass("2 minutes");
    expect((await world.history(run)).pending.map(({ path }) => path)).toEqual(["go", "pause"]);
    await world.signal(run, tested, "go", "taken by the loser");
    await world.pass("2 hours");
    await world.signal(run, tested, "other", "o");
    expect((await world.run(run)).result).toEqual(["short", "o"]);
  });

  test("try, catch and finally, loops and branches work", async () => {
    const { view } = await play(
      database,
      async ({ step }) => {
        const seen: unknown[] = [];
        for (let round = 1; ; round += 1) {
          try {
            const value = await step.run(
              "roll",
              () => {
                if (round % 2 === 0) throw new Error(`round ${round}`);
                return round;
              },
              once,
            );
            if (value > 4) return seen;
            seen.push(value);
          } catch (error) {
            seen.push(error instanceof Error && error.message);
          } finally {
            seen.push(await step.run("always", () => "finally"));
          }
        }
      },
      { warmRuns: 0 },
    );
    expect(view.result).toEqual([
      1,
      "finally",
      'step "roll#2" failed after 1 attempt: Error: round 2',
      "finally",
      3,
      "finally",
      'step "roll#4" failed after 1 attempt: Error: round 4',
      "finally",
      "finally",
    ]);
  });

  test("a step that nobody awaits is carried out while the run lasts", async () => {
    let bodies = 0;
    const { view } = await play(database, async ({ step }) => {
      void step.run("aside", () => {
        bodies += 1;
      });
      await step.run("main", () => 1);
      await step.sleep("nap", "1 minute");
      return 1;
    });
    expect(view.status).toBe("completed");
    expect(bodies).toBe(1);
  });
});
