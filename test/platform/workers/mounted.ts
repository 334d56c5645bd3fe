/** layover within an app of the user's own: mounted, which hides the prefix from it, and as a route, which does not. */
import { type ExecutionContext, Hono } from "hono";
import {
  type AlarmNamespace,
  type CloudflareOptions,
  type Fetcher,
  type QueueProducer,
  serve,
} from "layover/cloudflare";
import { neon } from "layover/neon";
import { turning } from "./turning.ts";
import { workflows } from "./workflows.ts";

export { LayoverAlarm } from "./turning.ts";

interface Env {
  readonly ALARM?: AlarmNamespace;
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE?: QueueProducer;
  readonly SELF: Fetcher;
}

const at = (path: string): CloudflareOptions<Env> => ({
  workflows,
  database: (env) => neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT }),
  publicUrl: (env) => `${env.PUBLIC_URL}${path}`,
  secrets: (env) => [env.LAYOVER_SECRET],
  self: (env) => env.SELF,
  queue: (env) => env.QUEUE,
  alarm: (env) => env.ALARM,
});
const mounted = serve(at("/mounted"));
const routed = serve({ ...at("/routed"), prefix: "/routed" });

const app = new Hono<{ Bindings: Env }>();
app.get("/", (context) => context.text("the user's own"));
app.mount("/mounted", mounted.fetch);
app.all("/routed/*", (context) => routed.fetch(context.req.raw, context.env, context.executionCtx));

export default turning({
  fetch: async (request, env: Env, context: ExecutionContext) => await app.fetch(request, env, context),
  scheduled: mounted.scheduled,
  queue: mounted.queue,
});
