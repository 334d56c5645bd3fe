/** A Worker that is deployed as functions/worker.ts is, with runs that wait, and tells what reaches it. */
import { type AlarmNamespace, type QueueProducer, serve, LayoverAlarm as Untold } from "layover/cloudflare";
import { neon } from "layover/neon";
import { observing, tell } from "../demo/observing.ts";
import { workflows } from "./workflows.ts";

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly CF_VERSION_METADATA: { readonly id: string };
  readonly DATABASE_URL: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE: QueueProducer;
}

export class LayoverAlarm extends Untold {
  override async fetch(request: Request): Promise<Response> {
    tell("object");
    return await super.fetch(request);
  }

  override async alarm(): Promise<void> {
    tell("alarm");
    await super.alarm();
  }
}

export default observing(
  serve<Env>({
    workflows,
    alarm: (env) => env.ALARM,
    database: (env) => neon(env.DATABASE_URL),
    deployment: (env) => env.CF_VERSION_METADATA.id,
    publicUrl: (env) => env.PUBLIC_URL,
    queue: (env) => env.QUEUE,
    secrets: (env) => [env.LAYOVER_SECRET],
  }),
);
