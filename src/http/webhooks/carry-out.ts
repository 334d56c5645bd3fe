/** Asks the code what a delivery does, and has it done: when it comes, and when somebody has it played again. */
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { LayoverError } from "../../core/errors.ts";
import type { DeliveryAnswer } from "../../postgres/wire-webhooks.ts";
import { decide } from "./decide.ts";
import { type DeliveryId, effectOf, type Kept, perform } from "./deliver.ts";
import type { SenderAnswer } from "./verifier.ts";
import type { MountTerms, WebhookParts } from "./webhook.ts";

export interface Carried {
  /** Undefined: there was nothing to do. */
  readonly result?: DeliveryAnswer | undefined;
  readonly answer?: SenderAnswer | undefined;
}

export interface CarryOutTerms {
  readonly context: ClientContext;
  readonly id: DeliveryId;
  readonly kept: Kept;
  readonly event: unknown;
  readonly headers: Headers;
  readonly terms: MountTerms;
}

/** @throws LayoverError `webhook_failed` if the code threw, once that is noted; what `perform` throws */
export async function carryOut(hook: WebhookParts, given: CarryOutTerms): Promise<Carried> {
  const { context, id, kept, headers, terms } = given;
  const decided = await decide(hook, given.event, headers);
  if ("deeds" in decided) {
    const { deeds, ignored, answer } = decided;
    const { delivery } = id;
    if (ignored !== undefined) terms.tell({ kind: "delivery_ignored", webhook: hook.name, delivery, reason: ignored });
    if (deeds.length === 0) return { answer };
  }
  const answer = "deeds" in decided ? decided.answer : undefined;
  const { cause, ...effect } = {
    cause: undefined,
    ...("deeds" in decided ? await effectOf(context, id, decided.deeds) : decided),
  };
  const result = await perform(context, { ...id, ...kept, ...effect }, terms.tell);
  if (result.outcome === "failed") throw failure(hook.name, cause);
  return { result, answer };
}

/** Says to the sender that the code threw, so that it tries again. */
function failure(name: string, cause: unknown): LayoverError {
  return new LayoverError("webhook_failed", `the code of the webhook ${name} threw`, {
    hint: "Send it again, or have it carried out after a fix: `layover webhooks replay`.",
    cause,
  });
}
