/** Delivers to a webhook without a request and without its code: only what it does. */
import type { ClientContext } from "../src/client/over-postgres/client-context.ts";
import type { Deed } from "../src/http/webhooks/deeds.ts";
import { type DeliveryId, effectOf, perform } from "../src/http/webhooks/deliver.ts";
import type { DeliveryAnswer } from "../src/postgres/wire-webhooks.ts";

export async function deliver(context: ClientContext, id: DeliveryId, deeds: readonly Deed[]): Promise<DeliveryAnswer> {
  const effect = await effectOf(context, id, deeds);
  if ("cause" in effect) throw effect.cause;
  return await perform(context, { ...id, ...effect }, () => {});
}
