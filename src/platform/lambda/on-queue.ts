/** Hands on what the queue brings: turns whose wait is over, deliveries that were answered before, and ticks that failed. */
import { shownMessage } from "../invocation/turn-message.ts";
import { type ForwardedEvent, readForwarded, type TickEvent } from "./messages.ts";
import type { QueueAnswer, QueueEvent } from "./options.ts";
import type { ServedFunctions } from "./served-functions.ts";

/** How long a tick that failed again and again waits for its next try: one minute, doubling to 15, which is the longest delay. */
const firstDelaySeconds = 60;
const longestDelaySeconds = 900;

/** Answers which messages must come again. After half a day of tries the queue puts them aside as dead letters. */
export async function onQueue(served: ServedFunctions, { Records }: QueueEvent): Promise<QueueAnswer> {
  const refused = await Promise.all(
    Records.map(async ({ messageId, body }) => {
      try {
        await forward(served, body);
        return [];
      } catch (error) {
        served.report(error, "forwarding a message of the queue");
        return [{ itemIdentifier: messageId }];
      }
    }),
  );
  return { batchItemFailures: refused.flat() };
}

async function forward(served: ServedFunctions, body: string): Promise<void> {
  const {
    runtime: { services },
    nameOf,
    report,
  } = served;
  const message = readForwarded(body);
  if (message === undefined) {
    report(new Error(`a message of the queue is no event: ${shownMessage(body)}`), "forwarding a message of the queue");
    return;
  }
  if ("failed" in message) {
    const tries = (message.failed.tries ?? 0) + 1;
    const event: TickEvent = { ...message.failed, tries };
    const later: ForwardedEvent = { to: "tick", event };
    const delaySeconds = Math.min(longestDelaySeconds, firstDelaySeconds * 2 ** Math.min(tries - 1, 10));
    const refused = await services.send(nameOf("queueUrl"), [{ body: JSON.stringify(later), delaySeconds }]);
    if (refused.length > 0) throw new Error("the queue refused a message");
    return;
  }
  if ("since" in message) return await forwardDelivery(served, message);
  await services.invoke(nameOf(message.to), JSON.stringify(message.event));
}

/** How long a delivery is tried by messages of its own. Then the queue tries its last one for half a day, and puts it aside. */
const tryMs = 12 * 3_600_000;

/**
 * Waits until a delivery is carried out. One that failed is sent anew, after 10 s, 30 s … 15 minutes. That message is there
 * before this one is gone: a delivery that comes twice is done once.
 */
async function forwardDelivery(
  { runtime: { services, host }, nameOf, report }: ServedFunctions,
  { event, since, tries = 0 }: Extract<ForwardedEvent, { readonly since: number }>,
): Promise<void> {
  try {
    await services.ask(nameOf("turns"), JSON.stringify(event));
  } catch (error) {
    if (host.now() - since > tryMs) throw error;
    report(error, "carrying out a delivery that was answered before");
    const again: ForwardedEvent = { to: "turns", event, since, tries: tries + 1 };
    const delaySeconds = Math.min(longestDelaySeconds, 10 * 3 ** Math.min(tries, 10));
    const refused = await services.send(nameOf("queueUrl"), [{ body: JSON.stringify(again), delaySeconds }]);
    if (refused.length > 0) throw new Error("the queue refused a message");
  }
}
