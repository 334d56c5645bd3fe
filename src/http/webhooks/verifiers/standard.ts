/** Standard Webhooks (https://www.standardwebhooks.com): Clerk, OpenAI, Resend, Svix and many others sign so. */
import { fromBase64Url } from "../../../core/base64.ts";
import type { SecretOf, Variables, Verifier } from "../verifier.ts";
import { before, header, isOfNow, isSigned, jsonOf, keysOf, refused } from "./signature.ts";

/** Verifies by a secret such as `whsec_MfKQ9r8GKYqr…`. @example standardWebhooks((env) => env.RESEND_SECRET) */
export function standardWebhooks<Env = Variables>(secretOf: SecretOf<Env>): Verifier<unknown, Env> {
  return {
    sender: "Standard Webhooks",
    verify(request, env) {
      // Svix, from which the standard comes, still sends names of its own.
      const named = (name: string) => header(request, `webhook-${name}`) ?? header(request, `svix-${name}`);
      const [id, time, signed] = [named("id"), named("timestamp"), named("signature")];
      if (id === undefined || time === undefined || signed === undefined)
        return refused("it has not all of the headers webhook-id, webhook-timestamp and webhook-signature");
      if (!isOfNow(time, request.now)) return refused("its time is not within five minutes of now");
      const keys = keysOf(secretOf, env, secretBytes).filter(({ length }) => length > 0);
      if (keys.length === 0) return refused("the secret is not set, or is not in base64");
      const signatures = signed.split(" ").flatMap((each) => (each.startsWith("v1,") ? [each.slice(3)] : []));
      const text = before(`${id}.${time}.`, request.body);
      if (!isSigned({ keys, encoding: "base64", text, signatures }))
        return refused("its signature is not of this secret and this body");
      const event = jsonOf(request.body);
      if ("outcome" in event) return event;
      return { outcome: "verified", event: event.value, delivery: id, isIdSigned: true };
    },
  };
}

function secretBytes(secret: string): Uint8Array {
  const base64 = secret.replace(/^whsec_/, "").replace(/=+$/, "");
  return fromBase64Url(base64.replaceAll("+", "-").replaceAll("/", "_")) ?? new Uint8Array();
}
