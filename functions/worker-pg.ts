/** A Cloudflare Worker on your Postgres, whichever it is: it connects by TCP. What it reads from `env`: see wrangler.toml. */
import { type AlarmNamespace, type QueueProducer, serve } from "layover/cloudflare";
import { pg } from "layover/pg";
import { Pool } from "pg";
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
  // One connection for each request, which ends with it. Through Hyperdrive: the connection string of its binding, and as
  // `endpoint` of pg() the host and database of DATABASE_URL, since Hyperdrive's address says nothing of the database.
  database: (env) => pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 })),
  deployment: (env) => env.CF_VERSION_METADATA?.id,
  environment: (env) => env.LAYOVER_ENVIRONMENT,
  publicUrl: (env) => env.PUBLIC_URL,
  queue: (env) => env.QUEUE,
  secrets: (env) => [env.LAYOVER_SECRET, env.LAYOVER_SECRET_OLD],
});
