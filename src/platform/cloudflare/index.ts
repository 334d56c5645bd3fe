/** The public names of `layover/cloudflare`. */
export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export { printEvent } from "../log/print-objects.ts";
export { type AlarmNamespace, LayoverAlarm } from "./alarm/layover-alarm.ts";
export type { CloudflareOptions, ExecutionContext, Fetcher, MessageBatch, ScheduledController } from "./options.ts";
export type { QueuedMessage } from "./queue/queue-delivery.ts";
export type { QueueProducer } from "./queue/queue-dispatch.ts";
export { type CloudflareWorker, serve } from "./serve.ts";
