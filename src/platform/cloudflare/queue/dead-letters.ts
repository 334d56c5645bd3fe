/**
 * What a queue has given up, since it could not be delivered again and again. An event tells what became of the run.
 * Nothing is lost, since the run's alarm stands. But it seldom happens for no reason.
 */
import type { Client } from "../../../client/over-postgres/client.ts";
import { LayoverError } from "../../../core/errors.ts";
import type { TurnRef } from "../../../core/ports.ts";
import type { Tell } from "../../../engine/events.ts";
import { type DeliveryOptions, type QueuedMessage, readLetters, retryLater } from "./queue-delivery.ts";

/** Whether a queue holds dead letters. The Worker learns nothing of a queue but its name. */
export function isOfDeadLetters(queue: string): boolean {
  return queue.endsWith("-dead");
}

export interface DeadLettersOptions {
  readonly client: Pick<Client, "get" | "history">;
  readonly tell: Tell;
  readonly onError: DeliveryOptions["onError"];
}

export async function tellDeadLetters(messages: readonly QueuedMessage[], options: DeadLettersOptions): Promise<void> {
  for (const { message, turn } of readLetters(messages, options.onError)) {
    try {
      await tellStory(turn, options);
      message.ack();
    } catch (error) {
      options.onError(error, `reading what became of run ${turn.runId}, whose dispatch was given up`);
      if (error instanceof LayoverError && error.code === "unknown_run") message.ack();
      else retryLater(message);
    }
  }
}

async function tellStory(dispatched: TurnRef, { client, tell }: DeadLettersOptions): Promise<void> {
  const { runId } = dispatched;
  const { workflow, version, status, blocked, turn, dueAt } = await client.get(runId);
  const { pending } = await client.history(runId, { limit: 1 });
  const waitsFor = pending.map(({ kind, path, attempts }) => `${kind} ${path}, failed ${attempts} times`);
  const about = { runId, workflow, version, status, blocked, dispatchedTurn: dispatched.turn, turn, dueAt, waitsFor };
  tell({ kind: "dispatch_given_up", ...about });
}
