/** A delivery whose van breaks down: it fails, somebody repairs it, and it writes what it did in transactions. */
import { type Client, type Run, workflow } from "layover";
import { expect } from "vitest";
import { World } from "../engine/world.ts";
import { expectSameStory } from "./deaths.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const delivery = workflow({ name: "delivery", version: 1 });

interface ToldDelivery extends Told {
  /** What its transactions have written. */
  readonly ledger: readonly string[];
  /** How each run of the workflow has ended, and in which epoch. */
  readonly runs: readonly string[];
}

/** Repairs a run that failed at `drive`, and answers which run goes on. */
type Repair = (
  client: Client,
  run: Pick<Run<typeof delivery>, "runId">,
  callId: string,
) => Promise<{ readonly runId: string }>;

/** The ways to repair it: how, why its last epoch has begun, and how all its runs have ended. */
export const repairs = {
  retry: {
    repair: (client, { runId }, callId) => client.retry(runId, { callId }),
    why: "retried",
    runs: ["completed in epoch 1"],
  },
  restart: {
    repair: (client, { runId }, callId) => client.restart(runId, { from: "drive", callId }),
    why: "restarted",
    runs: ["completed in epoch 1"],
  },
  fork: {
    repair: (client, { runId }, newRunId) => client.fork(runId, { from: "drive", newRunId }),
    why: "forked",
    runs: ["completed in epoch 1", "failed in epoch 0"],
  },
} satisfies Record<string, { repair: Repair; why: string; runs: readonly string[] }>;

export const tellRepair =
  (repair: Repair): Tell =>
  async (database, options, prepare): Promise<ToldDelivery> => {
    const effects = new Effects();
    let isMended = false;
    const table = "public.delivery_ledger";
    await database.query(`create table if not exists ${table} (run uuid not null, entry text not null)`);
    const deliveryWorkflow = delivery.handler(async ({ run, step }) => {
      const write = (name: string) =>
        step.transaction(name, async (db) => {
          await db.query(`insert into ${table} (run, entry) values ($1, $2)`, [run.runId, name]);
          return name;
        });
      await step.run("load", (context) => effects.happen("load", context));
      const loaded = await write("loaded");
      await step.run(
        "drive",
        (context) => {
          if (!isMended) throw new Error("the van broke down");
          return effects.happen("drive", context);
        },
        { retry: { maxAttempts: 1 } },
      );
      return [loaded, await write("driven")];
    });
    const world = await World.begin(database, { ...options, workflows: [deliveryWorkflow] });
    prepare(world);
    await world.pass("1s"); // whole minutes are where the scheduler looks
    const run = await world.start(delivery);
    expect((await world.run(run)).status).toBe("failed");
    isMended = true;
    await world.pass("1 minute");
    const callId = world.chance.uuid();
    const repaired = await world.ask((client) => repair(client, run, callId));
    const view = await world.run(repaired);
    const ids = [...new Set([run.runId, repaired.runId])];
    const { rows } = await database.pool.query(`select entry from ${table} where run = any ($1) order by entry`, [ids]);
    const { runs } = await world.ask((client) => client.list({ workflow: delivery.name }));
    return {
      ...{ world, effects, workflow: deliveryWorkflow, view, history: await world.history(repaired) },
      ledger: rows.map(({ entry }) => String(entry)),
      runs: runs.map(({ status, epoch }) => `${status} in epoch ${epoch}`).toSorted(),
    };
  };

/** Whatever died: the same story, each transaction was committed once, and the run was repaired once. */
export const expectRepaired =
  ({ why, runs }: { readonly why: string; readonly runs: readonly string[] }) =>
  async (told: Told, undisturbed: Told): Promise<void> => {
    await expectSameStory(told, undisturbed);
    expect(told).toMatchObject({ ledger: ["driven", "loaded"], runs });
    expect(told.history.epochs.map((epoch) => epoch.why)).toEqual([why]);
  };
