/**
 * Has a Worker tell in its log what reaches it: the cron trigger, deliveries of queues, and what its Durable Objects
 * are asked or rung for. An entry's own `LayoverAlarm` has to {@link tell} of the objects.
 */
import type { CloudflareWorker } from "layover/cloudflare";

/**
 * What has reached the Worker. `dead`: a delivery of dead letters. `object`: a Durable Object was asked. `alarm`: one
 * rang.
 */
export type Reached = (typeof all)[number];

const all = ["cron", "queue", "dead", "object", "alarm"] as const;
const mark = "reached by: ";

export function tell(reached: Reached): void {
  console.log(mark + reached);
}

/** Reads from a message of the log what has reached the Worker. Undefined where the message tells something else. */
export function readReached(message: string): Reached | undefined {
  return all.find((reached) => message === mark + reached);
}

export function observing<Env>(worker: CloudflareWorker<Env>): CloudflareWorker<Env> {
  return {
    ...worker,
    async scheduled(controller, env) {
      tell("cron");
      await worker.scheduled(controller, env);
    },
    async queue(batch, env) {
      tell(batch.queue.endsWith("-dead") ? "dead" : "queue");
      await worker.queue(batch, env);
    },
  };
}
