/** An order that has its parts made by runs of their own, side by side and one after another, and goes on as new. */
import { ChildFailedError, type StepContext, workflow } from "layover";
import { expect } from "vitest";
import * as z from "zod";
import { World } from "../engine/world.ts";
import { expectSameStory } from "./deaths.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const part = workflow({ name: "part", version: 1, input: z.object({ name: z.string() }) });
const audit = workflow({ name: "audit", version: 1 });
const order = workflow({ name: "order", version: 1, input: z.object({ lap: z.number() }) });

/** Whose runs were started, by their workflow; of parts in the order of their starts. */
interface ToldFamily extends Told {
  readonly others: readonly string[];
}

export const tellFamily: Tell = async (database, options, prepare): Promise<ToldFamily> => {
  const effects = new Effects();
  const partWorkflow = part.handler(async ({ input: { name }, step }) => {
    if (name === "lamp") await step.sleep("dry", "1 minute");
    const made = await step.run("make", (context: StepContext) => effects.happen(`make ${name}`, context));
    if (name === "mirror") throw Object.assign(new Error("broken"), { stack: "" }); // the parent's history tells it, and it differs from time to time
    return made;
  });
  const auditWorkflow = audit.handler(({ step }) => step.run("file", (context) => effects.happen("audit", context)));
  const orderWorkflow = order.handler(async ({ input: { lap }, step }) => {
    await step.run("begin", (context) => effects.happen(`lap ${lap}`, context));
    const parts = await step.map("parts", ["desk", "lamp"], (name, { step }) => step.invoke("part", part, { name }));
    await step.start("audit", audit);
    const mirror = await step.invoke("mirror", part, { name: "mirror" }).catch((error: unknown) => {
      if (error instanceof ChildFailedError) return error.cause.message;
      throw error;
    });
    if (lap === 0) return await step.continueAsNew({ lap: 1 });
    return [...parts, mirror];
  });
  const workflows = [orderWorkflow, partWorkflow, auditWorkflow];
  const world = await World.begin(database, { ...options, workflows });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(order, { lap: 0 });
  await world.run(run);
  const { rows } = await database.pool.query("select id, workflow from layover.run where parent_run_id = $1", [
    run.runId,
  ]);
  const others = rows.map(({ id }) => ({ runId: String(id) }));
  await world.run(run, ...others);
  return {
    ...{ world, effects, workflow: orderWorkflow, view: await world.get(run.runId), history: await world.history(run) },
    others: rows.map((row) => String(row["workflow"])).toSorted(),
  };
};

/** Whatever died: the same story, and each run was started once and told its end once. */
export async function expectSameFamily(told: Told, undisturbed: Told): Promise<void> {
  await expectSameStory(told, undisturbed);
  expect(othersOf(told)).toEqual(othersOf(undisturbed));
}

function othersOf(told: Told): unknown {
  return "others" in told ? told.others : undefined;
}
