/**
 * Deliveries of webhooks that were answered before they are carried out. Each is a message of the queue of turns: sealed, and
 * delivered again and again until it is done.
 */
import type { HostClock } from "../../../core/ports.ts";
import { utf8Size } from "../../../core/utf8-size.ts";
import { within } from "../../../core/waits.ts";
import type { LaterQueue } from "../../../http/webhooks/webhook.ts";
import type { QueuedMessage } from "./queue-delivery.ts";
import type { QueueProducer, SealedDelivery } from "./queue-dispatch.ts";

/** A message has 128 KB, with what the platform adds to it. */
const mostBytes = 120_000;

/** How long the queue may take. Slack waits for three seconds in all. */
const sendMs = 1_500;

/**
 * The pauses between tries: 10 s, three times as long each time, up to 115 minutes. Twelve of them are twelve and a half
 * hours. Then the message is a dead letter.
 */
const firstPauseSeconds = 10;
const longestPauseSeconds = 6_900;

/** The pause between tries of a dead letter. Twelve of them are six days; the queue deletes it by then. */
const deadPauseSeconds = 43_200;

export function laterQueue(queue: QueueProducer, host: HostClock): LaterQueue {
  return {
    mostBytes,
    send: async (sealed) => {
      const message: { readonly body: SealedDelivery } = { body: { sealed } };
      await within(host, sendMs, queue.sendBatch([message]), () => new Error("the queue did not answer in time"));
    },
  };
}

export interface LaterOptions {
  /** Undefined: this Worker has no webhook any more. */
  readonly carryOut: ((sealed: string) => Promise<void>) | undefined;
  /** Whether they are dead letters, which the queue has given up. */
  readonly areDead: boolean;
  readonly onError: (error: unknown, doing: string) => void;
}

/** Carries them out, and answers the other messages. */
export async function carryOutLater(
  messages: readonly QueuedMessage[],
  { carryOut, areDead, onError }: LaterOptions,
): Promise<readonly QueuedMessage[]> {
  const others: QueuedMessage[] = [];
  for (const message of messages) {
    const { body, attempts } = message;
    if (!isSealed(body)) {
      others.push(message);
      continue;
    }
    try {
      if (carryOut === undefined)
        throw new Error("this Worker has no webhook, and a delivery to one came by its queue");
      await carryOut(body.sealed);
      message.ack();
    } catch (error) {
      onError(error, `carrying out a delivery of ${utf8Size(body.sealed)} bytes that was answered before`);
      message.retry({ delaySeconds: areDead ? deadPauseSeconds : pauseAfter(attempts) });
    }
  }
  return others;
}

function pauseAfter(attempts: number): number {
  return Math.min(firstPauseSeconds * 3 ** (attempts - 1), longestPauseSeconds);
}

function isSealed(body: unknown): body is SealedDelivery {
  return typeof body === "object" && body !== null && "sealed" in body && typeof body.sealed === "string";
}
