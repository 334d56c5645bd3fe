/** The routes of a deployment's webhooks: where senders deliver, and where people look at what was delivered. */
import type { Route } from "../route.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { receive } from "./receive.ts";
import type { BoundWebhook, MountTerms, WebhookParts } from "./webhook.ts";

/** Makes the routes of all webhooks. */
export function routesOf(webhooks: readonly BoundWebhook[], terms: MountTerms): readonly Route[] {
  const hooks = new Map(webhooks.map((hook) => [hook.name, partsOf(hook)]));
  const receiving = [...hooks.values()].flatMap((hook) =>
    (hook.asksByGet ? (["POST", "GET"] as const) : (["POST"] as const)).map(
      (method): Route => ({ method, path: `/webhooks/${hook.name}`, answer: (visit) => receive(hook, visit, terms) }),
    ),
  );
  return [...receiving, ...deliveryRoutes(hooks, terms)];
}

function partsOf(hook: BoundWebhook): WebhookParts {
  if (isWhole(hook)) return hook;
  throw new TypeError(`the webhook ${hook.name} was not made by webhook(…) of layover/webhooks`);
}

function isWhole(hook: BoundWebhook): hook is WebhookParts {
  return "sender" in hook && "on" in hook;
}
