/** A Cloudflare Worker on your Postgres, which it asks by Neon's HTTP endpoint. What it reads from `env`: see wrangler.toml. */
import { type AlarmNamespace, type QueueProducer, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { workflows } from "./workflows/index.ts";

export { LayoverAlarm } from "layover/cloudflare";

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly CF_VERSION_METADATA?: { readonly id: string };
  readonly DATABASE_URL: string;
  readonly LAYOVER_ENVIRONMENT?: string;
  readonly LAYOVER_SECRET: string;
  readonly LAYOVER_SECRET_OLD?: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE: QueueProducer;
}

export default serve<Env>({
  workflows,
  alarm: (env) => env.ALARM,
  database: (env) => neon(env.DATABASE_URL),
  deployment: (env) => env.CF_VERSION_METADATA?.id,
  environment: (env) => env.LAYOVER_ENVIRONMENT,
  publicUrl: (env) => env.PUBLIC_URL,
  queue: (env) => env.QUEUE,
  secrets: (env) => [env.LAYOVER_SECRET, env.LAYOVER_SECRET_OLD],
});
