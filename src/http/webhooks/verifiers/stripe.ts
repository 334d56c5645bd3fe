/** Stripe: https://docs.stripe.com/webhooks#verify-manually */
import type { SecretOf, Variables, Verifier } from "../verifier.ts";
import { before, header, isOfNow, isSigned, jsonOf, keysOf, refused, textIn } from "./signature.ts";

/**
 * What all events of Stripe have. Give the webhook a schema (`event`) for what you read of `data`. A thin event
 * (`object` is "v2.core.event") carries no data: start a run by its id, and fetch the object in the run's first step.
 */
export interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly object?: string;
  readonly livemode?: boolean;
  readonly data?: { readonly object?: Readonly<Record<string, unknown>> };
}

/** Verifies by the signing secret of the endpoint, `whsec_…`. @example stripeSignature((env) => env.STRIPE_SECRET) */
export function stripeSignature<Env = Variables>(secretOf: SecretOf<Env>): Verifier<StripeEvent, Env> {
  return {
    sender: "Stripe",
    verify(request, env) {
      const given = header(request, "stripe-signature");
      if (given === undefined) return refused("it has no header stripe-signature");
      const parts = given.split(",").map((part) => part.split("=", 2));
      const valuesOf = (name: string) => parts.flatMap(([key, value = ""]) => (key === name ? [value] : []));
      const [time = ""] = valuesOf("t");
      if (!isOfNow(time, request.now)) return refused("its time is not within five minutes of now");
      const keys = keysOf(secretOf, env);
      if (keys.length === 0) return refused("the secret is not set");
      const text = before(`${time}.`, request.body);
      if (!isSigned({ keys, encoding: "hex", text, signatures: valuesOf("v1") }))
        return refused("its signature is not of this secret and this body");
      const event = jsonOf(request.body);
      if ("outcome" in event) return event;
      if (!isEvent(event.value)) return refused("its body is no event: it has no id and type");
      return { outcome: "verified", event: event.value, delivery: event.value.id, isIdSigned: true };
    },
  };
}

function isEvent(value: unknown): value is StripeEvent {
  return textIn(value, "id") !== undefined && textIn(value, "type") !== undefined;
}
