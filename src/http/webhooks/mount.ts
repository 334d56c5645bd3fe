/** Gives the webhooks of a deployment to its app. It loads nothing of them: each webhook brings its own routes. */
import type { Tell } from "../../engine/events.ts";
import type { Route } from "../route.ts";
import type { MountTerms, Webhook } from "./webhook.ts";

/** Makes the routes of webhooks, by the secrets and limits of the app. */
export type MountWebhooks = (terms: Omit<MountTerms, "tell">) => readonly Route[];

/** Undefined: the deployment has none. */
export function mountWebhooks<Env>(
  webhooks: readonly Webhook<Env>[] | undefined,
  { env, tell }: { readonly env: Env; readonly tell: Tell },
): MountWebhooks | undefined {
  const bound = webhooks?.map((webhook) => webhook.bind(env)) ?? [];
  const [first] = bound;
  return first && ((terms) => first.mount(bound, { ...terms, tell }));
}
