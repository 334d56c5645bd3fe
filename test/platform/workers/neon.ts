/** A Worker under test that asks a local endpoint which speaks Neon's protocol. */
import { neonConfig } from "@neondatabase/serverless";
import { type Fetcher, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { forwarding } from "./forwarding.ts";
import { isolate, workflows } from "./workflows.ts";

/** Put in when it is bundled. */
declare const settings: { readonly invocation?: { readonly maxSteps: number } };

interface Env {
  readonly DATABASE_URL: string;
  readonly LAYOVER_SECRET: string;
  readonly NAME: string;
  readonly PUBLIC_URL: string;
  readonly SELF?: Fetcher;
}

neonConfig.fetchEndpoint = (host, port) => `http://${host}:${port}/sql`;

const worker = serve<Env>({
  workflows,
  database: (env) => neon(env.DATABASE_URL),
  publicUrl: (env) => env.PUBLIC_URL,
  secrets: (env) => [env.LAYOVER_SECRET],
  self: (env) => env.SELF,
  ...settings,
});

export default forwarding<Env>({
  ...worker,
  fetch: async (request, env, context) => {
    isolate.name = env.NAME;
    return await worker.fetch(request, env, context);
  },
});
