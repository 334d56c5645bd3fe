/** The webhook of a shop, to which tests of deliveries send, and what a test asks it afterwards. */
import { ignore, signal, start } from "layover/webhooks";
import { order } from "../an-app.ts";
import { aShop, type WebhookApp } from "./a-webhook.ts";

/** Starts an order when it is paid, and tells it when its address has changed. */
export const shop = aShop(({ event }) =>
  event.type === "paid"
    ? start(order, { id: event.order, amount: event.amount }, { id: event.order })
    : event.type === "moved"
      ? signal(order, { id: event.order }, "address", { city: "Bonn" })
      : ignore(`${event.type} is not ours`),
);

export const done = (delivery: string) => ({ status: 200, body: { outcome: "done", delivery } });

export async function runs({ client }: WebhookApp) {
  return (await client.list()).runs.map(({ id, status }) => ({ id, status })).reverse();
}

export async function shown(app: WebhookApp, id: string): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await app.request(`/v1/webhooks/shop/deliveries/${id}`);
  return Object(body);
}
