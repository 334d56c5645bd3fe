/** Hands on what the queue brings: turns whose wait is over, and ticks that failed. */
import { shownMessage } from "../invocation/turn-message.ts";
import { type ForwardedEvent, readForwarded, type TickEvent } from "./messages.ts";
import type { QueueAnswer, QueueEvent } from "./options.ts";
import type { ServedFunctions } from "./served-functions.ts";

/** How long a tick that failed again and again waits for its next try: one minute, doubling to 15, which is the longest delay. */
const firstDelaySeconds = 60;
const longestDelaySeconds = 900;

/** Answers which messages must come again. After several tries the queue puts them aside as dead letters. */
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

async function forward({ runtime: { services }, nameOf, report }: ServedFunctions, body: string): Promise<void> {
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
  await services.invoke(nameOf(message.to), JSON.stringify(message.event));
}
