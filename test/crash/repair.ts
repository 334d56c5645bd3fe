/** A delivery whose van breaks down: it fails, somebody retries it, and it writes what it did in transactions. */
import { workflow } from "layover";
import { expect } from "vitest";
import { World } from "../engine/world.ts";
import { expectSameStory } from "./deaths.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const delivery = workflow({ name: "delivery", version: 1 });

interface ToldDelivery extends Told {
  /** What its transactions have written. */
  readonly ledger: readonly string[];
}

export const tellRepair: Tell = async (database, options, prepare): Promise<ToldDelivery> => {
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
  await world.ask((client) => client.retry(run.runId, { callId }));
  const view = await world.run(run);
  const rows = await database.query(`select entry from ${table} where run = $1 order by entry`, [run.runId]);
  return {
    ...{ world, effects, workflow: deliveryWorkflow, view, history: await world.history(run) },
    ledger: rows.map(({ entry }) => String(entry)),
  };
};

/** Whatever died: the same story, each transaction was committed once, and the run was retried once. */
export async function expectRepaired(told: Told, undisturbed: Told): Promise<void> {
  await expectSameStory(told, undisturbed);
  expect("ledger" in told && told.ledger).toEqual(["driven", "loaded"]);
  expect(told.history.epochs.map(({ why }) => why)).toEqual(["retried"]);
}
