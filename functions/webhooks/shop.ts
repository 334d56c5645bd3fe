/**
 * What the shop tells us: an order that was placed starts its run, and an address that was changed goes to that run. The shop
 * signs as https://www.standardwebhooks.com says. Senders keep no order: the address may come first, and waits for its run.
 */
import { ignore, signal, standardWebhooks, start, webhook } from "layover/webhooks";
import * as z from "zod/mini";
import { Address, Order, order } from "../workflows/order.ts";

const ours: ReadonlySet<string> = new Set(["order.placed", "address.changed"]);
const Event = z.union([
  z.object({ type: z.literal("order.placed"), id: z.string(), order: Order }),
  z.object({ type: z.literal("address.changed"), id: z.string(), address: Address }),
  // No other type is ours. One of ours that fits neither of the above is refused, and kept until the code or the shop is mended.
  z.object({
    type: z.string().check(z.refine((type) => !ours.has(type), "what comes with it is not what this type has")),
  }),
]);

export const shop = webhook({
  name: "shop",
  verify: standardWebhooks((env: { readonly SHOP_SECRET?: string | undefined }) => env.SHOP_SECRET),
  event: Event,
  on: ({ event }) => {
    if ("order" in event) return start(order, event.order, { id: event.id });
    if ("address" in event) return signal(order, { id: event.id }, "address", event.address);
    return ignore(`nothing is done for ${event.type}`);
  },
});
