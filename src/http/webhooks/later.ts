/**
 * Deliveries that are answered before they are carried out: for a sender that waits some seconds only, or never sends again.
 * The code has said what to do by then. That goes sealed into a queue of the host's, which brings it back, again and again,
 * until it is done. It is neither verified nor asked for again. If it comes twice, it is done once, as any delivery.
 */
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { reportTo } from "../../engine/events.ts";
import type { DeedCall } from "../../postgres/wire-webhooks.ts";
import { type Performed, perform } from "./deliver.ts";
import { open, seal } from "./seal.ts";
import type { LaterQueue, LaterTerms, MountTerms } from "./webhook.ts";

/** Puts a delivery into the queue. False: it has not taken it, or it is too long for a message. */
export async function sendLater(
  given: Performed,
  {
    context,
    queue,
    terms,
  }: { readonly context: ClientContext; readonly queue: LaterQueue; readonly terms: MountTerms },
): Promise<boolean> {
  const { secrets, namespace, tell } = terms;
  const { deeds = [] } = given;
  const now = context.host.now();
  const text = JSON.stringify({ ...given, deeds: deeds.map((deed) => fromNow(deed, now)) });
  if (text.length > queue.mostBytes) return false;
  const sealed = await seal(text, { secrets, about: aboutOf(namespace) });
  if (sealed.length > queue.mostBytes) return false;
  try {
    await queue.send(sealed);
    return true;
  } catch (error) {
    reportTo(tell)(error, "putting a delivery into the queue; it is carried out before its answer");
    return false;
  }
}

/** Carries out what the queue has brought back. If it rejects, the queue must bring it back again. */
export async function carryOutSealed(sealed: string, { secrets, namespace, client, tell }: LaterTerms): Promise<void> {
  // Nobody but this deployment can have sealed it.
  const given: Performed = JSON.parse(await open(sealed, { secrets, about: aboutOf(namespace) }));
  await client.within((context) => perform(context, given, tell));
}

function aboutOf(namespace: string): string {
  return `a delivery to a webhook of ${namespace}`;
}

/** Reckons the delay of a start from the delivery, however long the queue takes. */
function fromNow(deed: DeedCall, now: number): DeedCall {
  if (!("encodedInput" in deed) || deed.delayMs === undefined) return deed;
  const { delayMs, ...start } = deed;
  return { ...start, startAt: now + delayMs };
}
