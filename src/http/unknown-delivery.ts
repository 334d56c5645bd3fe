/** The error for a delivery that is not there. Webhooks and the dashboard use it. */
import { LayoverError } from "../core/errors.ts";

export function unknownDelivery(webhook: string, id: string): LayoverError {
  return new LayoverError(
    "unknown_delivery",
    `there is no delivery ${JSON.stringify(id.slice(0, 100))} to ${webhook}`,
    {
      hint: "Look at `layover webhooks list`. Deliveries are kept for 30 days.",
    },
  );
}
