/** Asks a deployment for what senders have delivered to its webhooks. */
import type { DeliveryListOptions, DeliveryPage, DeliveryView } from "../../client/deliveries.ts";
import { type Api, pathOf } from "../../client/over-http/api.ts";
import { unsealed } from "../../client/over-http/sealed-view.ts";
import { LayoverError } from "../../core/errors.ts";
import { UsageError } from "../usage-error.ts";

export interface Replayed {
  readonly outcome: string;
  readonly reason?: string;
}

/** These trust the shape of an answer: it is what the route of that path gives. */
export async function listDeliveries(
  api: Api,
  { webhook, isOpen, limit, cursor }: DeliveryListOptions,
): Promise<DeliveryPage> {
  const query = { webhook, limit, cursor, ...(isOpen && { open: "true" }) };
  return await served(async () => unsealed(await api.get("/v1/deliveries", { query })) as DeliveryPage);
}

export async function getDelivery(api: Api, webhook: string, id: string): Promise<DeliveryView> {
  return await served(async () => unsealed(await api.get(pathOfDelivery(webhook, id))) as DeliveryView);
}

export async function replayDelivery(
  api: Api,
  { webhook, id }: Pick<DeliveryView, "webhook" | "id">,
  why: { readonly by: string | undefined; readonly reason: string | undefined },
): Promise<Replayed> {
  const path = `${pathOfDelivery(webhook, id)}/replay`;
  return await served(async () => unsealed(await api.post(path, why)) as Replayed);
}

function pathOfDelivery(webhook: string, id: string): string {
  return pathOf("v1", "webhooks", webhook, "deliveries", id);
}

async function served<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof LayoverError) || error.code !== "not_found") throw error;
    throw new UsageError("This deployment has no webhooks.", {
      hint: "Give them to serve: serve({ workflows, webhooks: [stripe] }). LAYOVER_URL says which deployment is asked.",
      cause: error,
    });
  }
}
