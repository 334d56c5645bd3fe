/** Carries out what the queue delivers: turns, and deliveries of webhooks that were answered before. */

import { laterOf } from "../../http/webhooks/mount.ts";
import type { MessageBatch } from "./options.ts";
import { isOfDeadLetters, tellDeadLetters } from "./queue/dead-letters.ts";
import { carryOutLater } from "./queue/later-deliveries.ts";
import { deliver, retryLater } from "./queue/queue-delivery.ts";
import { afterRingMs, type ServedWorker } from "./served-worker.ts";

/**
 * How long a delivery begins groups of suspects. Each waits for the one before it, however long that takes. One that began
 * late would be cut amid its steps, and lose a try by that. So it is sent anew.
 */
const groupsMs = 5_000;

export async function onDelivery<Env>(
  { options, namespace, host, tell, report: onError, isolateOf, begin }: ServedWorker<Env>,
  { queue, messages }: MessageBatch,
  env: Env,
): Promise<void> {
  try {
    const begunAt = host.now();
    const until = begunAt + afterRingMs;
    const invocation = begin(env, { until: () => until, turns: messages.length, isDelivery: true });
    const { engine, client, dispatcher, elsewhere, end } = invocation;
    const { secrets } = isolateOf(env);
    const later = laterOf(options.webhooks, env);
    const areDead = isOfDeadLetters(queue);
    const turns = await carryOutLater(messages, {
      carryOut: later && ((sealed) => later(sealed, { secrets, namespace, client, tell })),
      areDead,
      onError,
    });
    if (areDead) await tellDeadLetters(turns, { client, tell, onError });
    else
      await deliver(turns, {
        carryOut: (turns) => engine.carryOut(turns),
        elsewhere,
        settled: () => dispatcher.settled(),
        sendAnew: async (turns) => {
          await dispatcher.dispatch(turns, 0);
          await dispatcher.settled();
          return dispatcher.isWhole;
        },
        isOpen: () => host.now() < begunAt + groupsMs,
        onError,
      });
    await end();
  } catch (error) {
    onError(error, "delivering");
    for (const message of messages) retryLater(message); // but those that are acknowledged
  }
}
