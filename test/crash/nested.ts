/** Two levels of branches: a map in a map, and Promise.all inside of a race, with slots and retries in between. */
import { workflow } from "layover";
import { World } from "../engine/world.ts";
import { Effects, type Tell } from "./story.ts";

const nested = workflow({ name: "nested", version: 1 });

export const tellNested: Tell = async (database, options, prepare) => {
  const effects = new Effects();
  const nestedWorkflow = nested.handler(async ({ step }) => {
    const first = await step.run("first", (context) => effects.happen("first", context));
    const rows = await step.map(
      "outer",
      ["a", "b"],
      async (letter, { step }) => {
        const inner = await step.map(
          "inner",
          [1, 2, 3],
          (number, { step }) => step.run("it", (context) => effects.happen(`${letter}${number}`, context)),
          { maxConcurrency: 2 },
        );
        const joined = await step.run(
          "join",
          (context) => {
            const result = effects.happen(`join ${letter}`, context);
            if (context.attempt === 1) throw new Error("again");
            return result;
          },
          { retry: { delay: "5s", jitter: false } },
        );
        return [...inner, joined];
      },
      { maxConcurrency: 3 },
    );
    const winner = await step.race("race", [
      async ({ step }) =>
        Promise.all(["x", "y"].map((letter) => step.run("both", (context) => effects.happen(letter, context)))),
      async ({ step }) => {
        await step.sleep("too long", "1 hour");
        return step.run("never", (context) => effects.happen("never", context));
      },
    ]);
    const last = await step.run("last", (context) => effects.happen("last", context));
    return { first, rows, winner, last };
  });
  const world = await World.begin(database, { ...options, workflows: [nestedWorkflow] });
  prepare(world);
  await world.pass("31s"); // whole minutes are where the scheduler looks
  const run = await world.start(nested);
  const view = await world.run(run);
  return { world, effects, workflow: nestedWorkflow, view, history: await world.history(run) };
};
