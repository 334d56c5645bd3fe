/**
 * layover on Cloudflare Workers: the HTTP face, turns that a queue delivers, and an alarm in a Durable Object. So nobody
 * asks the database while nothing is due.
 *
 *   export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ workflows: [orderWorkflow], database: (env) => neon(env.DATABASE_URL),
 *     publicUrl: (env) => env.PUBLIC_URL, secrets: (env) => [env.LAYOVER_SECRET],
 *     queue: (env) => env.QUEUE, alarm: (env) => env.ALARM });
 *
 * A delivery, an alarm and a cron trigger have 15 minutes each, and begin nothing in the last two.
 */

import { onDelivery } from "./on-delivery.ts";
import { onRequest } from "./on-request.ts";
import { onCron, tickWhenRung } from "./on-ring.ts";
import type { CloudflareOptions, ExecutionContext, MessageBatch, ScheduledController } from "./options.ts";
import { workerd } from "./runtime.ts";
import { type ServedWorker, servedWorker } from "./served-worker.ts";

/** A Worker's default export. Each function stands on its own: `app.mount("/layover", worker.fetch)`. */
export interface CloudflareWorker<Env> {
  readonly fetch: (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;
  readonly scheduled: (controller: ScheduledController, env: Env) => Promise<void>;
  readonly queue: (batch: MessageBatch, env: Env) => Promise<void>;
}

/**
 * Serves workflows as a Worker. What handlers log goes to the console, unless you take it by `onLog`. So do the events
 * that an operator must see, one JSON object each, unless you take all events by `onEvent`, or the errors among them by
 * `onError`.
 *
 * @throws LayoverError when it is deployed: `duplicate_workflow`, `invalid_name` for the namespace, `invalid_duration` for
 *   `sweep` and `leaseMs`, `invalid_request` for `alarmShards`
 * @example export default serve<Env>({ workflows, database: ({ DATABASE_URL }) => neon(DATABASE_URL), secrets });
 */
export function serve<Env extends object>(options: CloudflareOptions<Env>): CloudflareWorker<Env> {
  return workerOf(servedWorker(options, workerd));
}

/** What Cloudflare's runtime calls. */
export function workerOf<Env extends object>(worker: ServedWorker<Env>): CloudflareWorker<Env> {
  if (worker.options.alarm !== undefined) tickWhenRung(worker);
  return {
    fetch: (request, env, context) => onRequest(worker, request, env, context),
    scheduled: (_controller, env) => onCron(worker, env),
    queue: (batch, env) => onDelivery(worker, batch, env),
  };
}
