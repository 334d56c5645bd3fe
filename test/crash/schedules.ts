/** Reports that a schedule starts every ten minutes. */
import { schedule, workflow } from "layover";
import { expect } from "vitest";
import * as z from "zod";
import { World } from "../engine/world.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const report = workflow({ name: "report", version: 1, input: z.object({ at: z.string() }), output: z.string() });
const everyMs = 10 * 60_000;
const firings = 2;
/** How much later a run may begin and end for each death. */
const latestMsPerDeath = 3 * 60_000;

export const tellSchedule: Tell = async (database, options, prepare) => {
  const effects = new Effects();
  const reportWorkflow = report.handler(
    async ({ input, step }) => await step.run("write", (context) => effects.happen(input.at, context)),
  );
  const world = await World.begin(database, {
    ...options,
    workflows: [reportWorkflow],
    deployment: { name: "server", id: "a" },
    schedules: [
      schedule({
        name: "often",
        cron: "*/10 * * * *",
        start: report,
        input: ({ scheduledAt }) => ({ at: scheduledAt.toISOString() }),
      }),
    ],
  });
  prepare(world);
  await world.tick();
  // A host rings again for a tick that has died, and the first one has no alarm behind it.
  await world.pass("1 minute");
  await world.ask(async (client) => client.wake());
  await world.pass(firings * everyMs + 7 * 60_000);
  const { runs } = await world.ask((client) => client.list({ workflow: "report", limit: 200 }));
  const [last] = runs;
  if (last === undefined) throw new Error("the schedule has started nothing");
  const run = { runId: last.runId };
  return {
    world,
    effects,
    workflow: reportWorkflow,
    view: await world.get(run.runId),
    history: await world.history(run),
  };
};

/** Whatever died: each instant started one run, soon after it, and each run is over and wrote its report once. */
export async function expectEachFiring({ world, effects }: Told): Promise<void> {
  const { runs } = await world.ask((client) => client.list({ workflow: "report", limit: 200 }));
  const instants = Array.from(
    { length: firings },
    (_, index) => new Date(Date.UTC(2026, 0, 1, 12) + (index + 1) * everyMs),
  );
  const ids = instants.map((at) => `often@${at.toISOString().replace(".000", "")}`);
  expect(runs.map(({ id }) => id).toReversed()).toEqual(ids);
  expect(runs.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
  expect(effects.names).toEqual(instants.map((at) => at.toISOString()));
  for (const [index, { createdAt }] of runs.toReversed().entries()) {
    const lateMs = createdAt.getTime() - (instants[index]?.getTime() ?? 0);
    expect(lateMs).toBeLessThanOrEqual(world.deaths * latestMsPerDeath);
  }
}
