/** Letters that are faxed, each at most once: one after the other, side by side, and in a cleanup. */
import { type Step, StepError, workflow } from "layover";
import { expect } from "vitest";
import { endings } from "../engine/replaying.ts";
import { World } from "../engine/world.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const mailing = workflow({ name: "mailing", version: 1 });

/** How much later a run may end for each death. */
const latestMsPerDeath = 3 * 60_000;

/** Faxes a letter, and answers what is known of it. */
const fax = (effects: Effects) => async (step: Pick<Step, "run">, name: string) => {
  try {
    return await step.run(name, (context) => effects.happen(name, context), { semantics: "at-most-once" });
  } catch (error) {
    if (error instanceof StepError && error.cause.code === "interrupted") return `${name} is unknown`;
    throw error;
  }
};

export const tellAtMostOnce: Tell = async (database, options, prepare) => {
  const effects = new Effects();
  const send = fax(effects);
  const mailingWorkflow = mailing.handler(async ({ step }) => {
    const first = await send(step, "first");
    await step.sleep("nap", "1 minute");
    const many = await step.map("many", ["a", "b", "c"], (letter, { step }) => send(step, letter), {
      maxConcurrency: 2,
    });
    const last = await step.cleanup("end", ({ step }) => send(step, "last"));
    return [first, ...many, last];
  });
  const world = await World.begin(database, { ...options, workflows: [mailingWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(mailing);
  const view = await world.run(run);
  return { world, effects, workflow: mailingWorkflow, view, history: await world.history(run) };
};

/**
 * Whatever died: each body began at most once, what is told of it is true, no more is unknown than processes died, and
 * the run ends soon, also when its history is replayed.
 */
export async function expectAtMostOnce({ world, view, effects, workflow }: Told, undisturbed: Told): Promise<void> {
  expect(view.status).toBe("completed");
  expect([...effects.bodies.values()].filter((count) => count !== 1)).toEqual([]);
  const results = ["first", "a", "b", "c", "last"].map((name, index) => {
    const result = Array.isArray(view.result) ? String(view.result[index]) : "";
    expect([`${name} is done`, `${name} is unknown`]).toContain(result);
    if (result.endsWith("done")) expect(effects.names).toContain(name);
    return result;
  });
  const unknown = results.filter((result) => result.endsWith("unknown"));
  expect(unknown.length).toBeLessThanOrEqual(world.deaths * 2); // two are faxed at a time
  expect(world.time - undisturbed.world.time).toBeLessThanOrEqual(world.deaths * latestMsPerDeath);
  const { first, replayed } = await endings(world, workflow, view.runId);
  expect(replayed).toEqual(first);
}
