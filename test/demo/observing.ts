/**
 * Has a Worker tell by its log what reaches it, for whoever started it to read: the cron trigger, deliveries of queues, and
 * whatever its Durable Objects are asked or rung for, which an entry's own `LayoverAlarm` is to {@link tell}.
 */
import type { CloudflareWorker } from "layover/cloudflare";

/** `dead`: of dead letters. `object`: a Durable Object was asked. `alarm`: one rang. */
export type Reached = (typeof all)[number];

const all = ["cron", "queue", "dead", "object", "alarm"] as const;
const mark = "reached by: ";

export function tell(reached: Reached): void {
  console.log(mark + reached);
}

/** Of a message of the log, if it is one of these. */
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
