/**
 * A webhook: which sender's requests it takes, and what each of them does.
 *
 *   export const stripe = webhook({ name: "stripe", verify: stripeSignature((env) => env.STRIPE_SECRET), on: ({ event }) =>
 *     event.type === "checkout.session.completed" ? start(order, toOrder(event)) : ignore("not ours") });
 *   // serve({ workflows, webhooks: [stripe] })       POST /webhooks/stripe
 *
 * A deployment that has no webhook loads nothing of this folder but types.
 */
import type { Client } from "../../client/over-postgres/client.ts";
import type { Schema } from "../../core/contract/schema.ts";
import type { Tell } from "../../engine/events.ts";
import type { Route } from "../route.ts";
import type { Secrets } from "../secrets.ts";
import type { Answered, Deed, Ignored } from "./deeds.ts";
import type { SenderRequest, Verdict, Verifier } from "./verifier.ts";

export interface Delivered<Event, Env> {
  readonly event: Event;
  /** The headers of the request, but for those that hold keys or signatures. */
  readonly headers: Headers;
  readonly env: Env;
}

/** What a delivery does: nothing, one deed, or up to ten. An `answer` beside them is sent once they are done. */
export type Decision = Deed | Ignored | Answered | readonly (Deed | Answered)[];

/** The same of a webhook that answers before. The sender has its answer by then. */
export type DecisionBefore = Exclude<Decision, Answered | readonly unknown[]> | readonly Deed[];

export type WebhookOptions<Env, Given, Event> = CommonOptions<Env, Given, Event> &
  (
    | {
        /** Says what to do. It does nothing itself, so it may be called again for the same delivery. */
        readonly on: (delivered: Delivered<Event, Env>) => Decision;
        /**
         * When the sender is answered: after everything is done, or before. Before means: once `on` has said what to do, and a
         * queue of the host's has taken that. The queue tries for 12 hours, on AWS for a day, and then keeps it as a dead letter.
         * So a sleeping database makes no sender wait. Default: "before" for GitHub, which never sends again, and for Slack,
         * which waits three seconds, where the host has a queue (Cloudflare and AWS); else "after". What is answered by
         * `answer(…)`, or is too long for a message, is done before its answer.
         */
        readonly respond?: "after" | undefined;
      }
    | { readonly on: (delivered: Delivered<Event, Env>) => DecisionBefore; readonly respond: "before" }
  );

interface CommonOptions<Env, Given, Event> {
  /** Its requests come to `/webhooks/` and this name. Letters, digits, `-` and `_`, at most 50. */
  readonly name: string;
  /** Tells whether a request comes from the sender. */
  readonly verify: Verifier<Given, Env>;
  /** Schema of the events. One that does not fit is refused, and kept to be replayed. Default: no event is checked. */
  readonly event?: Schema<unknown, Event> | undefined;
  /** The status of the answer to a delivery that was refused. Default: 200, since most senders would send it again for days. */
  readonly respondRefused?: 200 | 422 | undefined;
  /**
   * Whether two deliveries with the same body are two if their ids differ, where the sender does not sign the id (GitHub,
   * `hmac` with `delivery`): "allow". Default: within 96 hours they are one. A delivery without an id is known by its body
   * alone, for ten minutes, so for a sender that has no ids "allow" is refused.
   */
  readonly sameBody?: "allow" | undefined;
}

/** What the app gives to the webhooks of a deployment. */
export interface MountTerms {
  readonly secrets: Secrets;
  readonly namespace: string;
  /** The most bytes of a body. */
  readonly maxBytes: number;
  readonly tell: Tell;
  /** Undefined: the host has none, or it is not bound. */
  readonly queue?: LaterQueue | undefined;
}

/** What a delivery is carried out with that the host's queue has brought back. */
export interface LaterTerms {
  readonly secrets: Secrets;
  readonly namespace: string;
  readonly client: Client;
  readonly tell: Tell;
}

/** A queue of the host's. It brings back what it has taken, again and again, until that is done. */
export interface LaterQueue {
  /** The most bytes of a message. */
  readonly mostBytes: number;
  /** Rejects if the queue has not taken it, or does not answer within a moment. */
  readonly send: (sealed: string) => Promise<void>;
}

/** A webhook, as `serve` takes it. */
export interface Webhook<Env = never> {
  readonly name: string;
  /** What its options say. Undefined: nothing. */
  readonly respond: "before" | "after" | undefined;
  /** Gives it the variables of a deployment. */
  readonly bind: (env: Env) => BoundWebhook;
}

/** A webhook of a deployment. */
export interface BoundWebhook {
  readonly name: string;
  /** Makes the routes of all webhooks of the deployment. */
  readonly mount: (webhooks: readonly BoundWebhook[], terms: MountTerms) => readonly Route[];
  /** Carries out a delivery, of whichever webhook, that the host's queue has brought back. */
  readonly carryOut: (sealed: string, terms: LaterTerms) => Promise<void>;
}

/** A webhook of a deployment with its parts. Only this folder makes one. */
export interface WebhookParts extends BoundWebhook {
  /** Who sends. */
  readonly sender: string;
  readonly secretHeaders: readonly string[] | undefined;
  readonly asksByGet: boolean;
  readonly wantsNoBody: boolean;
  /** Whether the sender is answered before, where there is a queue. `needed`: its options say so. */
  readonly before: "needed" | "possible" | undefined;
  readonly verify: (request: SenderRequest) => Verdict<unknown>;
  readonly event: Schema | undefined;
  readonly on: (event: unknown, headers: Headers) => Decision;
  readonly refusedStatus: number;
  readonly comparesBodies: boolean;
}
