/** Carries out the turns that the queue delivers. */

import type { MessageBatch } from "./options.ts";
import { isOfDeadLetters, tellDeadLetters } from "./queue/dead-letters.ts";
import { deliver, retryLater } from "./queue/queue-delivery.ts";
import { afterRingMs, type ServedWorker } from "./served-worker.ts";

export async function onDelivery<Env>(
  { host, tell, report: onError, begin }: ServedWorker<Env>,
  { queue, messages }: MessageBatch,
  env: Env,
): Promise<void> {
  try {
    const until = host.now() + afterRingMs;
    const invocation = begin(env, { until: () => until, turns: messages.length, isDelivery: true });
    const { engine, client, dispatcher, elsewhere, end } = invocation;
    if (isOfDeadLetters(queue)) await tellDeadLetters(messages, { client, tell, onError });
    else
      await deliver(messages, {
        carryOut: (turns) => engine.carryOut(turns),
        elsewhere,
        settled: () => dispatcher.settled(),
        sendAnew: async (turns) => {
          await dispatcher.dispatch(turns, 0);
          await dispatcher.settled();
          return dispatcher.isWhole;
        },
        isOpen: () => host.now() < until,
        onError,
      });
    await end();
  } catch (error) {
    onError(error, "delivering");
    for (const message of messages) retryLater(message); // but those that are acknowledged
  }
}
