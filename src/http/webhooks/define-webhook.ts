/** Makes webhooks (see webhook.ts), each with the routes that it needs. */
import { LayoverError } from "../../core/errors.ts";
import { carryOutSealed } from "./later.ts";
import { routesOf } from "./routes.ts";
import type { Variables } from "./verifier.ts";
import type { Webhook, WebhookOptions, WebhookParts } from "./webhook.ts";
import { checkWebhookName } from "./webhook-name.ts";

/**
 * Makes a webhook.
 *
 * @throws LayoverError `invalid_name`, `invalid_request`
 * @example webhook({ name: "github", verify: githubSignature((env) => env.GITHUB_SECRET), on: ({ event }) => … })
 */
export function webhook<Env = Variables, Given = unknown, Event = Given>(
  options: WebhookOptions<Env, Given, Event>,
): Webhook<Env> {
  const { verify, event, on, respond, respondRefused = 200, sameBody } = options;
  const name = checkWebhookName(options.name);
  if (sameBody === "allow" && verify.hasNoIds) throw noIds(name);
  return {
    name,
    respond,
    bind: (env): WebhookParts => ({
      name,
      mount: routesOf,
      carryOut: carryOutSealed,
      sender: verify.sender,
      secretHeaders: verify.secretHeaders,
      asksByGet: verify.asksByGet === true,
      wantsNoBody: verify.wantsNoBody === true,
      before: respond === "before" ? "needed" : respond === undefined && verify.isImpatient ? "possible" : undefined,
      verify: (request) => verify.verify(request, env),
      event,
      // The event is what the sender's verifier has read, or what the schema made of it.
      on: (given, headers) => on({ event: given as Event, headers, env }),
      refusedStatus: respondRefused,
      comparesBodies: sameBody !== "allow",
    }),
  };
}

function noIds(name: string): LayoverError {
  return new LayoverError(
    "invalid_request",
    `the webhook ${name} has sameBody "allow", and its deliveries have no ids`,
    {
      hint: "Leave it out, or name the header with the id: hmac({ delivery: … }). Without an id the body alone tells that a delivery came again.",
      details: { field: "sameBody" },
    },
  );
}
