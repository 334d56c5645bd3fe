/** Asks the code what a delivery does, and has it done: when it comes, and when somebody has it played again. */
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { LayoverError } from "../../core/errors.ts";
import type { DeliveryAnswer } from "../../postgres/wire-webhooks.ts";
import { decide } from "./decide.ts";
import { type DeliveryId, effectOf, type Kept, perform } from "./deliver.ts";
import { sendLater } from "./later.ts";
import type { CheckedAnswer } from "./sender-answer.ts";
import type { LaterQueue, MountTerms, WebhookParts } from "./webhook.ts";

export interface Carried {
  /** `accepted`: the host's queue has taken it. Undefined: there was nothing to do. */
  readonly result?: DeliveryAnswer | Accepted | undefined;
  readonly answer?: CheckedAnswer | undefined;
}

interface Accepted {
  readonly outcome: "accepted" | "refused";
  readonly delivery: string;
}

export interface CarryOutTerms {
  readonly context: ClientContext;
  readonly id: DeliveryId;
  readonly kept: Kept;
  readonly event: unknown;
  readonly headers: Headers;
  readonly terms: MountTerms;
  /** The queue that takes it, so that the sender is answered before. Undefined: it is carried out here. */
  readonly queue?: LaterQueue | undefined;
}

/** @throws LayoverError `webhook_failed` if the code threw, once that is noted; what `perform` throws */
export async function carryOut(hook: WebhookParts, given: CarryOutTerms): Promise<Carried> {
  const { context, id, kept, headers, terms, queue } = given;
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
    ...("deeds" in decided
      ? await effectOf(context, id, decided.deeds, headers.get("traceparent") ?? undefined)
      : decided),
  };
  const performed = { ...id, ...kept, ...effect };
  if (queue !== undefined && answer === undefined && (await sendLater(performed, { context, queue, terms }))) {
    if (cause !== undefined) throw failure(hook.name, cause);
    return { result: { outcome: "refused" in performed ? "refused" : "accepted", delivery: id.delivery } };
  }
  const result = await perform(context, performed, terms.tell);
  if (result.outcome === "failed") throw failure(hook.name, cause);
  return { result, answer };
}

/** Says to the sender that the code threw, so that it tries again. */
export function failure(
  name: string,
  cause: unknown,
  hint = "Send it again, or have it carried out after a fix: `layover webhooks replay`.",
): LayoverError {
  return new LayoverError("webhook_failed", `the code of the webhook ${name} threw`, { hint, cause });
}
