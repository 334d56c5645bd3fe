/**
 * An order of a shop that keeps no order itself: its signal is delivered before the start, both come again, and a letter
 * with several deeds follows.
 */
import { workflow } from "layover";
import { signal, signalWithStart, start } from "layover/webhooks";
import { expect } from "vitest";
import * as z from "zod";
import type { Deed } from "../../src/http/webhooks/deeds.ts";
import { deliver } from "../delivering.ts";
import { World } from "../engine/world.ts";
import { expectSameStory } from "./deaths.ts";
import { Effects, type Tell, type Told } from "./story.ts";

const parcel = workflow({ name: "parcel", version: 1, signals: { address: z.string(), paid: z.string() } });

interface ToldDeliveries extends Told {
  readonly rows: readonly unknown[];
}

export const tellDeliveries: Tell = async (database, options, prepare): Promise<ToldDeliveries> => {
  const effects = new Effects();
  const parcelWorkflow = parcel.handler(async ({ step }) => {
    const address = await step.waitForSignal("address");
    const paid = await step.waitForSignal("paid");
    await step.run("send", (context) => effects.happen(`a parcel to ${address}, ${paid}`, context));
    return [address, paid];
  });
  const world = await World.begin(database, { ...options, workflows: [parcelWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const receive = async (id: string, ...deeds: readonly Deed[]) =>
    await world.ask((client) => client.within((context) => deliver(context, { webhook: "shop", delivery: id }, deeds)));
  const moved = signal(parcel, { id: "p1" }, "address", "Bonn");
  const begun = start(parcel, undefined, { id: "p1" });
  await receive("d1", moved);
  await world.pass("3 minutes"); // the scheduler has looked for its run
  await receive("d2", begun);
  await receive("d1", moved);
  await receive("d2", begun);
  await world.pass("10s");
  const { deeds } = await receive(
    "d3",
    signalWithStart(parcel, "paid", "paid", { id: "p1" }),
    start(parcel, undefined, { id: "p2" }),
  );
  const runId = deeds[0]?.runId ?? "";
  const view = await world.run({ runId });
  const rows = await database.query(
    `select j.id, j.outcome, j.attempts, (select count(*)::integer from layover.kept_signal u where u.namespace = j.namespace) as kept,
        (select count(*)::integer from layover.run r where r.namespace = j.namespace) as runs,
        (select count(*)::integer from layover.signal g join layover.run r on r.id = g.run_id where r.namespace = j.namespace) as signals
       from layover.delivery j where j.namespace = $1 order by j.id`,
    [world.namespace],
  );
  return { world, effects, workflow: parcelWorkflow, view, history: await world.history({ runId }), rows };
};

/** Whatever died: the same story, and each delivery was done once. */
export async function expectDelivered(told: Told, undisturbed: Told): Promise<void> {
  await expectSameStory(told, undisturbed);
  const counts = { outcome: "done", attempts: 1, kept: 0, runs: 2, signals: 2 };
  expect("rows" in told && told.rows).toEqual(["d1", "d2", "d3"].map((id) => ({ id, ...counts })));
}
