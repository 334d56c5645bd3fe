/** Gives the webhooks of a deployment to its app. It loads nothing of them: each webhook brings its own routes. */
import { LayoverError } from "../../core/errors.ts";
import type { Tell } from "../../engine/events.ts";
import type { Route } from "../route.ts";
import type { LaterQueue, LaterTerms, MountTerms, Webhook } from "./webhook.ts";

/** Makes the routes of webhooks, by the secrets and limits of the app. */
export type MountWebhooks = (terms: Omit<MountTerms, "tell" | "queue">) => readonly Route[];

export interface MountingTerms<Env> {
  readonly env: Env;
  readonly tell: Tell;
  readonly queue?: LaterQueue | undefined;
}

/** Undefined: the deployment has none. */
export function mountWebhooks<Env>(
  webhooks: readonly Webhook<Env>[] | undefined,
  { env, tell, queue }: MountingTerms<Env>,
): MountWebhooks | undefined {
  const bound = webhooks?.map((webhook) => webhook.bind(env)) ?? [];
  const [first] = bound;
  return first && ((terms) => first.mount(bound, { ...terms, tell, queue }));
}

/** Makes one answer after, whatever it says, for a host without a queue on which its author tries it. */
export function answeringAfter<Env>(webhook: Webhook<Env>): Webhook<Env> {
  return { ...webhook, respond: "after", bind: (env) => ({ ...webhook.bind(env), before: undefined }) };
}

/** Carries out deliveries that the host's queue has brought back. Undefined: the deployment has no webhook. */
export function laterOf<Env>(
  webhooks: readonly Webhook<Env>[] | undefined,
  env: Env,
): ((sealed: string, terms: LaterTerms) => Promise<void>) | undefined {
  return webhooks?.[0]?.bind(env).carryOut;
}

/**
 * Checks the webhooks of a deployment when its module is loaded, so that a mistake is told by the deploy. `noQueue`: why
 * none can answer before.
 *
 * @throws LayoverError `invalid_name`, `invalid_request`
 */
export function checkWebhooks(
  webhooks: readonly Webhook<never>[] = [],
  { noQueue }: { readonly noQueue: string | undefined },
): void {
  const names = new Set<string>();
  for (const { name, respond, bind } of webhooks) {
    if (typeof bind !== "function")
      throw new LayoverError("invalid_request", `webhooks: ${JSON.stringify(name)} is no webhook`, {
        hint: "Give what `webhook(…)` of layover/webhooks answers.",
        details: { field: "webhooks" },
      });
    if (names.has(name))
      throw new LayoverError("invalid_name", `the webhook's name ${JSON.stringify(name)} is that of two webhooks`, {
        hint: "Give each webhook a name of its own.",
        details: { field: "name" },
      });
    names.add(name);
    if (respond === "before" && noQueue !== undefined)
      throw new LayoverError("invalid_request", `the webhook ${name} answers before: ${noQueue}`, {
        hint: "Leave `respond` out. Then it is carried out before its answer.",
        details: { field: "respond" },
      });
  }
}
