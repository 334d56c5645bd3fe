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
  readonly ENDPOINT?: string;
  readonly HYPERDRIVE?: { readonly connectionString: string };
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE?: QueueProducer;
  readonly SELF?: Fetcher;
}

const worker = serve<Env>({
  workflows,
  database: ({ DATABASE_URL, HYPERDRIVE, ENDPOINT }) => {
    const { connectionString } = HYPERDRIVE ?? { connectionString: DATABASE_URL };
    return pg(new Pool({ connectionString, max: 1 }), ENDPOINT === undefined ? {} : { endpoint: ENDPOINT });
  },
  publicUrl: (env) => env.PUBLIC_URL,
  secrets: (env) => [env.LAYOVER_SECRET],
  self: (env) => env.SELF,
  queue: (env) => env.QUEUE,
  alarm: (env) => env.ALARM,
});

export default forwarding(worker);
