/** A Worker under test that asks a local endpoint which speaks Neon's protocol. */
import { type AlarmNamespace, type Fetcher, type QueueProducer, serve } from "layover/cloudflare";
import { encrypted } from "layover/encryption";
import { neon } from "layover/neon";
import { testKeys } from "../../postgres/encryption/keys.ts";
import { forwarding } from "./forwarding.ts";
import { playedQueue } from "./sending.ts";
import { turning } from "./turning.ts";
import { webhooks } from "./webhooks.ts";
import { isolate, workflows } from "./workflows.ts";

/** Put in when it is bundled. */
declare const settings: {
  readonly invocation?: { readonly maxSteps: number };
  readonly alarmShards?: number;
  readonly tellsEach?: true;
  readonly isEncrypted?: true;
};

export { LayoverAlarm } from "./turning.ts";

interface Env {
  readonly ALARM?: AlarmNamespace;
  readonly DEPLOYMENT?: string;
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly NAME: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE?: QueueProducer;
  /** Where a test plays the queue. */
  readonly QUEUE_URL?: string;
  readonly SELF?: Fetcher;
  readonly SESSION?: string;
}

const { tellsEach, isEncrypted, ...given } = settings;
const onError = (error: unknown, doing: string) => console.error(`error while ${doing}: ${String(error)}`);

const worker = serve<Env>({
  workflows,
  webhooks,
  database: (env) => {
    const plain = neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT });
    return isEncrypted ? encrypted(plain, testKeys) : plain;
  },
  deployment: (env) => env.DEPLOYMENT,
  authenticate: ({ headers }, { SESSION }) =>
    SESSION !== undefined && headers.get("cookie") === `session=${SESSION}`
      ? { name: "ada", scopes: ["read"] }
      : undefined,
  publicUrl: (env) => env.PUBLIC_URL,
  secrets: (env) => [env.LAYOVER_SECRET],
  self: (env) => env.SELF,
  queue: ({ QUEUE, QUEUE_URL }) => (QUEUE_URL === undefined ? QUEUE : playedQueue(QUEUE_URL)),
  alarm: (env) => env.ALARM,
  ...(tellsEach && { onError }),
  ...given,
});

export default turning(
  forwarding<Env>({
    ...worker,
    fetch: async (request, env, context) => {
      isolate.name = env.NAME;
      return await worker.fetch(request, env, context);
    },
  }),
);
