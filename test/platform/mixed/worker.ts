/** The Worker beside two other hosts on one database. */
import { type AlarmNamespace, type QueueProducer, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { turning } from "../workers/turning.ts";
import { type Build, workflowsOf } from "./workflows.ts";

/** Put in by the bundler. */
declare const settings: { readonly build?: Build };

export { LayoverAlarm } from "../workers/turning.ts";

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE: QueueProducer;
}

export default turning(
  serve<Env>({
    workflows: workflowsOf("cloudflare", settings.build),
    database: (env) => neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT }),
    publicUrl: (env) => env.PUBLIC_URL,
    secrets: (env) => [env.LAYOVER_SECRET],
    queue: (env) => env.QUEUE,
    alarm: (env) => env.ALARM,
  }),
);
