/** An order that is cancelled while its parcels wait: each gives back its place, then the charge is refunded. */
import { workflow } from "layover";
import { World } from "../engine/world.ts";
import { Effects, type Tell, tellCancelled } from "./story.ts";

const order = workflow({ name: "order", version: 1 });

export const tellCancel: Tell = async (database, options, prepare) => {
  const effects = new Effects();
  const orderWorkflow = order.handler(async ({ step }) => {
    await step.run("charge", (context) => effects.happen("charge", context));
    try {
      await step.map(
        "ship",
        ["a", "b", "c"],
        async (parcel, { step }) => {
          await step.run("store", (context) => effects.happen(`store ${parcel}`, context));
          try {
            await step.sleep("wait", "10 days");
          } finally {
            await step.cleanup("free", ({ step }) =>
              step.run("place", (context) => effects.happen(`free ${parcel}`, context)),
            );
          }
        },
        { maxConcurrency: 2 },
      );
    } finally {
      await step.cleanup("undo", async ({ step }) => {
        await step.run(
          "refund",
          (context) => {
            const result = effects.happen("refund", context);
            if (context.attempt === 1) throw new Error("again");
            return result;
          },
          { retry: { delay: "5s", jitter: false } },
        );
        await step.sleep("settle", "3 minutes");
        await step.run("tell", (context) => effects.happen("tell", context));
      });
    }
  });
  const world = await World.begin(database, { ...options, workflows: [orderWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(order);
  return await tellCancelled({ world, effects, workflow: orderWorkflow }, run, "20 minutes");
};
