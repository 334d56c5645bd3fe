/** GitHub: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
import type { SecretOf, Variables, Verifier } from "../verifier.ts";
import { header, isSigned, jsonOf, keysOf, refused, textIn } from "./signature.ts";

export interface GitHubEvent {
  /** The event's name: "issues". */
  readonly name: string;
  /** What happened to it: "opened". Some events have none. */
  readonly action: string | undefined;
  readonly payload: unknown;
}

const prefix = "sha256=";

/**
 * Verifies by the secret of the hook, whose content type must be `application/json`.
 *
 * @example githubSignature((env) => env.GITHUB_SECRET)
 */
export function githubSignature<Env = Variables>(secretOf: SecretOf<Env>): Verifier<GitHubEvent, Env> {
  return {
    sender: "GitHub",
    isImpatient: true,
    verify(request, env) {
      const given = header(request, "x-hub-signature-256");
      if (given === undefined) return refused("it has no header x-hub-signature-256. Give the hook a secret");
      const keys = keysOf(secretOf, env);
      if (keys.length === 0) return refused("the secret is not set");
      const signatures = given.startsWith(prefix) ? [given.slice(prefix.length)] : [];
      if (!isSigned({ keys, encoding: "hex", text: request.body, signatures }))
        return refused("its signature is not of this secret and this body");
      const name = header(request, "x-github-event");
      if (name === undefined) return refused("it has no header x-github-event");
      const payload = jsonOf(request.body);
      if ("outcome" in payload) return refused(`${payload.reason}. Choose application/json as the hook's content type`);
      const event = { name, action: textIn(payload.value, "action"), payload: payload.value };
      return { outcome: "verified", event, delivery: deliveryOf(request.headers), isIdSigned: false };
    },
  };
}

/** Two hooks that get one event get the same GUID, so the hook's id is a part of the delivery's. */
function deliveryOf(headers: Headers): string | undefined {
  const guid = headers.get("x-github-delivery");
  if (guid === null || guid === "") return undefined;
  const hook = headers.get("x-github-hook-id");
  return hook === null ? guid : `${hook}:${guid}`;
}
