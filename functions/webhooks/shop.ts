/**
 * What the shop tells us: an order that was placed starts its run, and an address that was changed goes to that run. The shop
 * signs as https://www.standardwebhooks.com says. Senders keep no order: the address may come first, and waits for its run.
 */
import { ignore, signal, standardWebhooks, start, webhook } from "layover/webhooks";
import * as z from "zod/mini";
import { Address, Order, order } from "../workflows/order.ts";

const Event = z.union([
  z.object({ type: z.literal("order.placed"), id: z.string(), order: Order }),
  z.object({ type: z.literal("address.changed"), id: z.string(), address: Address }),
  z.object({ type: z.string() }),
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
