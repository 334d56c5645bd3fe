/** A Worker under test that asks a local endpoint which speaks Neon's protocol. */
import { type Fetcher, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { forwarding } from "./forwarding.ts";
import { isolate, workflows } from "./workflows.ts";

/** Put in when it is bundled. */
declare const settings: { readonly invocation?: { readonly maxSteps: number } };

interface Env {
  readonly DEPLOYMENT?: string;
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly NAME: string;
  readonly PUBLIC_URL: string;
  readonly SELF?: Fetcher;
  readonly SESSION?: string;
}

const worker = serve<Env>({
  workflows,
  database: (env) => neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT }),
  deployment: (env) => env.DEPLOYMENT,
  authenticate: ({ headers }, { SESSION }) =>
    SESSION !== undefined && headers.get("cookie") === `session=${SESSION}`
      ? { name: "ada", scopes: ["read"] }
      : undefined,
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
