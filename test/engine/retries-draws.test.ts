/** A retried run draws the same values as before (`step.uuid`, `step.random`), since its last try may have had its effect under them. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { once } from "./failing.ts";
import { type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();

const passes = [
  ["goes on in memory", {}],
  ["is replayed at every turn", { warmRuns: 0 }],
] as const;

test.each(passes)("a run that is retried draws the same at each place as before, where it %s", async (_, options) => {
  const state = { isBroken: true };
  const drawn: Record<"before" | "after", Map<string, Set<string>>> = { before: new Map(), after: new Map() };
  const draw = (step: Pick<TestedStep, "uuid" | "random">, place: string) => {
    const places = drawn[state.isBroken ? "before" : "after"];
    const draws = places.get(place) ?? new Set();
    places.set(place, draws.add(`${step.uuid()} ${step.random()}`));
  };
  const world = await worldOf(
    database,
    async ({ step }) => {
      draw(step, "at the beginning");
      await step.run("a", () => "a", once);
      draw(step, "before b");
      try {
        await step.scope("room", async ({ step }) => {
          draw(step, "in the room");
          await step.run("b", () => (state.isBroken ? Promise.reject(new Error("no")) : "b"), once);
        });
      } catch (error) {
        draw(step, "after b");
        throw error;
      }
      draw(step, "after b");
    },
    options,
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed", epoch: 0 });
  await world.pass("1 hour");
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", epoch: 1 });
  expect([...drawn.before.keys()]).toEqual(["at the beginning", "before b", "in the room", "after b"]);
  expect(drawn.after).toEqual(drawn.before);
  const draws = [...drawn.after.values()].flatMap((each) => [...each]);
  expect(new Set(draws).size).toBe(4); // one at each place, in each replay the same
  expect(draws).toHaveLength(4);
});
