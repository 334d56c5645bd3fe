/** An order: it is charged, its address comes by a signal, it is approved by a callback, it rests, its parcels are sent. */

import { workflow } from "layover";
import * as z from "zod";
import { World } from "../engine/world.ts";
import { Effects, type Tell } from "./story.ts";

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ parcels: z.array(z.string()) }),
  signals: { address: z.string() },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
  timeout: "30 days",
});

export const tellOrder: Tell = async (database, options, prepare) => {
  const effects = new Effects();
  let token = "";
  const orderWorkflow = order.handler(async ({ input, step }) => {
    const charge = await step.run("charge", (context) => effects.happen("charge", context));
    const address = await step.waitForSignal("address");
    const approval = await step.waitForCallback(
      "approval",
      (context) => {
        token = context.token;
        effects.happen("email", context);
      },
      { timeout: "3 days" },
    );
    await step.sleep("cool off", "1 hour");
    const sent = await step.map(
      "ship",
      input.parcels,
      (parcel, { step }) => step.run("send", (context) => effects.happen(`send ${parcel} to ${address}`, context)),
      { maxConcurrency: 2 },
    );
    return { charge, approval, sent };
  });
  const world = await World.begin(database, { ...options, workflows: [orderWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(order, { parcels: ["a", "b", "c"] });
  await world.pass("20 minutes");
  await world.signal(run, order, "address", "Bonn");
  await world.pass("20 minutes");
  await world.ask((client) => client.resolveCallback(token, { ok: true }, { contract: order }));
  const view = await world.run(run);
  return { world, effects, workflow: orderWorkflow, view, history: await world.history(run) };
};
