/**
 * Webhooks: requests of senders such as Stripe, GitHub and Slack start runs and send signals.
 *
 *   export const stripe = webhook({ name: "stripe", verify: stripeSignature((env) => env.STRIPE_SECRET), on: ({ event }) =>
 *     event.type === "checkout.session.completed" ? start(order, toOrder(event)) : ignore("not ours") });
 *   // serve({ workflows, webhooks: [stripe] })       POST /webhooks/stripe
 */
export {
  answer,
  type Deed,
  type DeedRun,
  ignore,
  type StartDeedOptions,
  signal,
  signalWithStart,
  start,
} from "./deeds.ts";
export { webhook } from "./define-webhook.ts";
export type { SecretOf, SenderAnswer, SenderRequest, Variables, Verdict, Verifier } from "./verifier.ts";
export { type GitHubEvent, githubSignature } from "./verifiers/github.ts";
export { handshake } from "./verifiers/handshake.ts";
export { type HmacOptions, hmac } from "./verifiers/hmac.ts";
export { none } from "./verifiers/none.ts";
export { type SlackOptions, slackSignature } from "./verifiers/slack.ts";
export { standardWebhooks } from "./verifiers/standard.ts";
export { type StripeEvent, stripeSignature } from "./verifiers/stripe.ts";
export type { Decision, DecisionBefore, Delivered, Webhook, WebhookOptions } from "./webhook.ts";
