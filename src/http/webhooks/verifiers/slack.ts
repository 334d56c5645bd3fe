/** Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack */
import type { SecretOf, SenderRequest, Variables, Verifier } from "../verifier.ts";
import {
  before,
  header,
  isOfNow,
  isSigned,
  jsonIn,
  keysOf,
  type Refused,
  refused,
  textIn,
  textOf,
} from "./signature.ts";

export interface SlackOptions {
  /**
   * Names a delivery that has no id: that of a slash command or a button. Default: its body tells such deliveries apart, for
   * ten minutes.
   */
  readonly delivery?: ((event: unknown) => string | undefined) | undefined;
}

/**
 * Verifies by the signing secret of the app. An event is what was sent as JSON. Of a form it is the form's fields, and of a
 * button or a dialog its `payload`. The question for the address (`url_verification`) is answered here.
 *
 * @example slackSignature((env) => env.SLACK_SECRET)
 */
export function slackSignature<Env = Variables>(
  secretOf: SecretOf<Env>,
  { delivery }: SlackOptions = {},
): Verifier<unknown, Env> {
  return {
    sender: "Slack",
    isImpatient: true,
    wantsNoBody: true,
    verify(request, env) {
      const [time, signature] = [header(request, "x-slack-request-timestamp"), header(request, "x-slack-signature")];
      if (time === undefined || signature === undefined)
        return refused("it has not both headers x-slack-request-timestamp and x-slack-signature");
      if (!isOfNow(time, request.now)) return refused("its time is not within five minutes of now");
      const keys = keysOf(secretOf, env);
      if (keys.length === 0) return refused("the secret is not set");
      const signatures = signature.startsWith("v0=") ? [signature.slice(3)] : [];
      if (!isSigned({ keys, encoding: "hex", text: before(`v0:${time}:`, request.body), signatures }))
        return refused("its signature is not of this secret and this body");
      const read = eventOf(request);
      if ("outcome" in read) return read;
      const event = read.value;
      const challenge = textIn(event, "challenge");
      if (textIn(event, "type") === "url_verification" && challenge !== undefined)
        return { outcome: "answered", answer: { body: challenge } };
      const id = textIn(event, "event_id") ?? delivery?.(event);
      return { outcome: "verified", event, delivery: id, isIdSigned: true };
    },
  };
}

function eventOf({ headers, body }: SenderRequest): { readonly value: unknown } | Refused {
  const text = textOf(body);
  if (typeof text !== "string") return text;
  const isForm = (headers.get("content-type") ?? "").toLowerCase().startsWith("application/x-www-form-urlencoded");
  if (!isForm) return jsonIn(text);
  const fields = Object.fromEntries(new URLSearchParams(text));
  const { payload } = fields;
  return payload === undefined ? { value: fields } : jsonIn(payload);
}
