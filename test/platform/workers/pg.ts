/** A Worker under test that asks Postgres over TCP, by `pg`. */
import { type AlarmNamespace, type Fetcher, type QueueProducer, serve } from "layover/cloudflare";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { forwarding } from "./forwarding.ts";
import { workflows } from "./workflows.ts";

export { LayoverAlarm } from "layover/cloudflare";

interface Env {
  readonly ALARM?: AlarmNamespace;
  readonly DATABASE_URL: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE?: QueueProducer;
  readonly SELF?: Fetcher;
}

const worker = serve<Env>({
  workflows,
  database: (env) => pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 })),
  publicUrl: (env) => env.PUBLIC_URL,
  secrets: (env) => [env.LAYOVER_SECRET],
  self: (env) => env.SELF,
  queue: (env) => env.QUEUE,
  alarm: (env) => env.ALARM,
});

export default forwarding(worker);
