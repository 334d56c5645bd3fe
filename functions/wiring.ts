/** The variables and bindings of a Worker, as wrangler.toml names them, and the options that layover makes of them. */
import type { AlarmNamespace, QueueProducer } from "layover/cloudflare";
import { shop } from "./webhooks/shop.ts";
import { schedules, workflows } from "./workflows/index.ts";

export interface Env {
  readonly ALARM: AlarmNamespace;
  readonly CF_VERSION_METADATA?: { readonly id: string };
  readonly DATABASE_URL: string;
  readonly LAYOVER_ENVIRONMENT?: string;
  readonly LAYOVER_SECRET: string;
  readonly LAYOVER_SECRET_OLD?: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE: QueueProducer;
  readonly SHOP_SECRET?: string;
}

/** The options of `serve`, without the database. */
export const wiring = {
  workflows,
  schedules,
  alarm: (env: Env) => env.ALARM,
  deployment: (env: Env) => env.CF_VERSION_METADATA?.id,
  environment: (env: Env) => env.LAYOVER_ENVIRONMENT,
  publicUrl: (env: Env) => env.PUBLIC_URL,
  queue: (env: Env) => env.QUEUE,
  secrets: (env: Env) => [env.LAYOVER_SECRET, env.LAYOVER_SECRET_OLD],
  webhooks: [shop],
};
