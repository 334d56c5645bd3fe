/** Branches of a run: `scope` and `all`, and what two processes or a restart make of them. (`map`: see maps.test.ts.) */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { failing, once } from "./failing.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

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
