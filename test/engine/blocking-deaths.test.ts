/** Code that kills its process: a step of this kind fails in the end, and a handler of this kind is blocked. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedHandler } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a step that kills its process", () => {
  test.each([
    ["alone", async ({ step }: Parameters<TestedHandler>[0], body: () => unknown) => step.run("deadly", body)],
    [
      "beside another",
      async ({ step }: Parameters<TestedHandler>[0], body: () => unknown) =>
        (await Promise.all([step.run("deadly", body), step.run("harmless", () => 1)]))[0],
    ],
  ])(
    "fails after five that began it alone with the code step_crashed, and the handler can catch it: %s",
    async (_, runIt) => {
      let bodies = 0;
      const { view, world, run } = await play(database, async (context, world) => {
        try {
          await runIt(context, () => {
            bodies += 1;
            return world.die();
          });
          return "not caught";
        } catch (error) {
          const cause: unknown = Reflect.get(Object(error), "cause");
          return [Reflect.get(Object(cause), "code"), await context.step.run("after", () => "after")];
        }
      });
      expect(view).toMatchObject({ status: "completed", result: ["step_crashed", "after"] });
      expect(bodies).toBe(9); // four times among others, and five times alone
      expect(world.deaths).toBe(9);
      const { records } = await world.history(run);
      expect(records.find(({ path }) => path === "deadly")).toMatchObject({ isFailure: true });
      expect(world.time).toBeLessThan(9 * 4 * 60_000);
    },
  );

  test("a few times only goes on as if nothing had been, with all its attempts left", async () => {
    let bodies = 0;
    const { view, world, run } = await play(database, async ({ step }, world) =>
      step.run("deadly", ({ attempt }) => {
        bodies += 1;
        return bodies <= 4 ? world.die() : attempt;
      }),
    );
    expect(view).toMatchObject({ status: "completed", result: 1 });
    expect((await world.history(run)).records).toMatchObject([{ attempts: 1 }]);
  });

  test("in every turn but one does not add up: only claims in a row count", async () => {
    const died = new Set<number>();
    const { view } = await play(database, async ({ step }, world) => {
      for (let number = 0; number < 12; number += 1) {
        await step.run("it", () => {
          if (died.has(number)) return undefined;
          died.add(number);
          return world.die();
        });
      }
      return died.size;
    });
    expect(view).toMatchObject({ status: "completed", result: 12 });
  });

  test("is found in a batch of a hundred, in smaller and smaller groups, and fails nobody else", async () => {
    const contract = workflow({ name: "mixed", version: 1 });
    const bodies = new Map<string, number>();
    const world: World = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step, run }) => {
          await step.run("before", () => 1);
          await step.run("it", () => {
            const id = run.id ?? "";
            bodies.set(id, (bodies.get(id) ?? 0) + 1);
            return id === "deadly" ? world.die() : world.foreign("1s");
          });
          return step.run("after", () => 1);
        }),
      ],
      batch: 100,
      invocation: { maxSteps: 100 },
    });
    const runs = [];
    for (let number = 1; number <= 100; number += 1)
      runs.push(await world.start(contract, undefined, { id: number === 42 ? "deadly" : `${number}` }));
    await world.run(...runs);
    for (const run of runs) {
      const { id, status } = await world.get(run.runId);
      const isDeadly = id === "deadly";
      expect([id, status]).toEqual([id, isDeadly ? "failed" : "completed"]);
      const { records } = await world.history(run);
      expect(records.map(({ path }) => path)).toEqual(isDeadly ? ["before", "it"] : ["before", "it", "after"]);
      expect(bodies.get(String(id))).toBeLessThanOrEqual(isDeadly ? 9 : 5);
    }
    expect(world.deaths).toBe(9);
    const again = [...bodies.values()].filter((times) => times > 3);
    expect(again.length).toBeLessThanOrEqual(16);
    // Twice all together, then 7 groups of 16, 4 of 4, and those of the last group and the deadly one alone.
    expect(world.statements("claim_turns")).toBeLessThanOrEqual(2 + 7 + 4 + 4 + 6);
  });
});

test("a handler that always kills its process is blocked in the end, with the reason", async () => {
  const { view, world } = await play(database, async (_, world) => world.die());
  expect(view.status).toBe("blocked");
  expect(view.blocked).toBe("6 invocations in a row began turn 5 and never finished it");
  expect(world.deaths).toBe(10 + 4 * 2); // and two for each of the four tries
});

test("a handler that kills its process where a branch is replayed is blocked in the end", async () => {
  let isDeadly = false;
  const { view } = await play(
    database,
    async ({ step }, world) => {
      if (isDeadly) await world.die();
      return Promise.all([
        step.run("a", () => {
          isDeadly = true;
          return world.die();
        }),
        step.run("b", () => 2),
      ]);
    },
    { warmRuns: 0 },
  );
  expect(view.status).toBe("blocked");
  expect(view.blocked).toMatch(/^6 invocations in a row began .* and never finished it$/);
});
