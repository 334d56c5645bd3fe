/** What runs side by side: scope, all, race, and the combinators of plain JavaScript. (map: see maps.test.ts.) */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

const failing = (message: string) => () => {
  throw new Error(message);
};
const once = { retry: { maxAttempts: 1 } };

describe("scope", () => {
  test("is a room of its own for names, and a second one of its name is another", async () => {
    const { view, world, run } = await play(database, async ({ step }) => [
      await step.scope("part", ({ step }) => step.run("it", () => 1)),
      await step.scope("part", ({ step }) => step.run("it", () => 2)),
      await step.run("it", () => 3),
    ]);
    expect(view.result).toEqual([1, 2, 3]);
    const paths = (await world.history(run)).records.map(({ path, occurrence }) => `${path} ${occurrence}`);
    expect(paths).toEqual(["part/it 1", "part#2/it 1", "it 1"]);
  });
});

describe("all", () => {
  test("gives each branch's result at its place, and branches may have steps of one name", async () => {
    const { view, world, run } = await play(database, async ({ step }) =>
      step.all("both", [
        async ({ step }) => {
          const a = await step.run("it", () => 1);
          await step.sleep("nap", "1 hour");
          return a + (await step.run("it", () => 10));
        },
        async ({ step }) => step.run("it", () => "two"),
        async () => null,
      ]),
    );
    expect(view.result).toEqual([11, "two", null]);
    const { records } = await world.history(run);
    expect(records.map(({ path, occurrence }) => `${path} ${occurrence}`)).toEqual([
      "both[0]/it 1",
      "both[1]/it 1",
      "both[0]/nap 1",
      "both[0]/it 2",
    ]);
  });

  test("rejects with the first failure, and the others go on meanwhile", async () => {
    const { view, world, run } = await play(database, async ({ step }) => {
      const failure = await step
        .all("both", [
          async ({ step }) => step.run("bad", failing("bad"), once),
          async ({ step }) => {
            await step.sleep("nap", "1 minute");
            return step.run("good", () => 1);
          },
        ])
        .catch(String);
      await step.sleep("nap", "1 hour");
      return failure;
    });
    expect(view.result).toBe('StepError: step "both[0]/bad" failed after 1 attempt: Error: bad');
    expect((await world.history(run)).records.map(({ path }) => path)).toEqual([
      "both[0]/bad",
      "both[1]/nap",
      "both[1]/good",
      "nap",
    ]);
  });
});

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

test("a process that shares its runs with another carries out no step that is under way there", async () => {
  const bodies: string[] = [];
  const { view } = await play(
    database,
    async ({ step }, world) => {
      const body = (name: string, seconds: number) => async () => {
        bodies.push(name);
        await world.foreign(seconds * 1_000);
        return name;
      };
      const first = step.run("first", body("first", 1));
      const second = (async () => {
        await step.run("second", body("second", 2));
        return step.run("third", body("third", 30));
      })();
      await first;
      return [await step.run("fourth", body("fourth", 5)), await second];
    },
    { processes: 2 },
  );
  expect(view).toMatchObject({ status: "completed", result: ["fourth", "third"] });
  expect(bodies.toSorted()).toEqual(["first", "fourth", "second", "third"]);
});

test("a branch keeps to its own pace and attempts after a restart: no other turn carries it out", async () => {
  const attempts: [name: string, attempt: number, time: number][] = [];
  const world = await worldOf(database, async ({ step }) => {
    const flaky = (name: string, delay: "1 minute" | "30 minutes") =>
      step.run(
        name,
        ({ attempt }) => {
          attempts.push([name, attempt, world.time]);
          if (attempt === 1) throw new Error("again");
          return name;
        },
        { retry: { delay, maxDelay: delay, jitter: false } },
      );
    return Promise.all([flaky("left", "1 minute"), flaky("right", "30 minutes")]);
  });
  const run = await world.start(tested);
  await world.pass("10s");
  world.crash();
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["left", "right"] });
  expect(attempts.map(([name, attempt]) => [name, attempt])).toEqual([
    ["left", 1],
    ["right", 1],
    ["left", 2],
    ["right", 2],
  ]);
  expect(attempts[3]?.[2]).toBeGreaterThanOrEqual(1_800_000);
});
