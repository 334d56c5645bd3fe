/**
 * The messages that a queue has given up, since they could not be delivered again and again. For each of them the log
 * tells the state of its run. No run is lost by it, since its alarm stands, but it seldom happens for no reason.
 */
import type { Client } from "../../../client/over-postgres/client.ts";
import { LayoverError } from "../../../core/errors.ts";
import type { TurnRef } from "../../../core/ports.ts";
import type { EngineOptions } from "../../../engine/options.ts";
import { type DeliveryOptions, type QueuedMessage, readLetters, retryLater } from "./queue-delivery.ts";

/** Whether a queue holds dead letters. The Worker learns nothing of a queue but its name. */
export function isOfDeadLetters(queue: string): boolean {
  return queue.endsWith("-dead");
}

export interface DeadLettersOptions {
  readonly client: Pick<Client, "get" | "history">;
  readonly onLog: NonNullable<EngineOptions["onLog"]>;
  readonly onError: DeliveryOptions["onError"];
}

export async function tellDeadLetters(messages: readonly QueuedMessage[], options: DeadLettersOptions): Promise<void> {
  for (const { message, turn } of readLetters(messages, options.onError)) {
    try {
      await tell(turn, options);
      message.ack();
    } catch (error) {
      options.onError(error, `reading what became of run ${turn.runId}, whose dispatch was given up`);
      if (error instanceof LayoverError && error.code === "unknown_run") message.ack();
      else retryLater(message);
    }
  }
}

async function tell(dispatched: TurnRef, { client, onLog }: DeadLettersOptions): Promise<void> {
  const { runId } = dispatched;
  const run = await client.get(runId);
  const { pending } = await client.history(runId, { limit: 1 });
  onLog({
    level: run.blocked === undefined ? "warn" : "error",
    message: `a dispatch was given up; the run is ${run.status}, and its alarm ${run.dueAt === undefined ? "is not needed" : "stands"}`,
    workflow: run.workflow,
    runId,
    fields: {
      status: run.status,
      blocked: run.blocked,
      dispatchedTurn: dispatched.turn,
      turn: run.turn,
      dueAt: run.dueAt,
      waitsFor: pending.map(({ kind, path, attempts }) => `${kind} ${path}, failed ${attempts} times`),
    },
  });
}
