/**
 * An order: it is charged, approved by a person, cools off, and is shipped, each parcel beside the others. If it fails or
 * is cancelled, the customer gets the money back.
 */
import { NonRetryableError, workflow } from "layover";
import * as z from "zod/mini"; // or "zod", which weighs 13 kB more in a Worker
import { perform } from "./effects.ts";

export const Address = z
  .object({ street: z.string(), city: z.string() })
  .register(z.globalRegistry, { examples: [{ street: "1 Main St", city: "Turin" }] });

export const Order = z.object({
  customer: z.string(),
  amount: z.number().check(z.positive()),
  items: z.array(z.string()),
  address: Address,
});

export const order = workflow({
  name: "order",
  version: 1,
  input: Order,
  output: z.object({ charge: z.string(), parcels: z.array(z.string()), address: Address }),
  signals: { address: Address },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
  timeout: "30 days",
});

export const orderWorkflow = order.handler(async ({ input, step, log }) => {
  const { customer, amount } = input;
  const charge = await step.run(
    "charge",
    ({ idempotencyKey }) => perform("charge", { idempotencyKey, details: { customer, amount } }),
    {
      // If the order fails or is cancelled. The provider gives back what was charged under the key of the charge, if
      // anything was, and charges nothing under that key from then on: a process that seems dead may still be about to ask.
      compensate: (_, { original, idempotencyKey }) =>
        perform("refund", { idempotencyKey, details: { charge: original.idempotencyKey } }),
    },
  );
  log.info("charged", { charge, amount });

  const approval = await step.waitForCallback(
    "approval",
    ({ url }) => log.info("waits for approval: open this page", { url }),
    { timeout: "3 days" },
  );
  if (!approval.ok) throw new NonRetryableError("the order was not approved");

  await step.sleep("cool off", "3 seconds");
  // Until now the customer could send another address. It is kept until somebody looks.
  const corrected = await step.waitForSignal("address", { timeout: 0, onTimeout: "null" });
  const address = corrected ?? input.address;

  const parcels = await step.map("ship", input.items, (item, { step }) =>
    step.run("send", ({ idempotencyKey }) => perform("parcel", { idempotencyKey, details: { item, ...address } })),
  );
  log.info("shipped", { parcels });
  return { charge, parcels, address };
});
