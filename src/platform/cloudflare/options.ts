/** What `serve` of Cloudflare is given, by the user and by Cloudflare's runtime. */
import type { Workflow } from "../../core/contract/contract.ts";
import type { Duration } from "../../core/duration.ts";
import type { Query } from "../../core/ports.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { Authenticate } from "../../http/access.ts";
import type { CorsOptions } from "../../http/site.ts";
import type { AlarmNamespace } from "./alarm/layover-alarm.ts";
import type { QueuedMessage } from "./queue/queue-delivery.ts";
import type { QueueProducer } from "./queue/queue-dispatch.ts";

type Settings = Pick<EngineOptions, "leaseMs" | "keepMs" | "keepFailedMs" | "onLog" | "onEvent" | "onError">;

export interface CloudflareOptions<Env> extends Settings {
  readonly workflows: readonly Workflow[];
  /**
   * Called for each request that asks it something, and ended with it if it has an `end`: `neon(env.DATABASE_URL)`, or by TCP and with
   * nodejs_compat `pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 }))`. A request and all that it calls by
   * bindings may have six connections open, so whoever waits for another one has ended its own.
   */
  readonly database: (env: Env) => Query & { readonly end?: () => Promise<void> };
  /** The address at which the world reaches this Worker, with the prefix. Callbacks are answered there. */
  readonly publicUrl: (env: Env) => string | undefined;
  /** The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. */
  readonly secrets: (env: Env) => readonly (string | undefined)[];
  /**
   * A queue that this Worker sends to and is the consumer of (`queue` of what `serve` answers): the way by which it asks
   * itself to carry out turns. What it could not deliver again and again goes to its dead-letter queue; name that
   * `…-dead` and consume it too, and the log tells what became of each run. (The queue itself has another name, then.)
   */
  readonly queue?: ((env: Env) => QueueProducer | undefined) | undefined;
  /**
   * The Durable Objects of the class `LayoverAlarm`, which ring when something is due: so while nothing is, nobody asks
   * the database. Default: the cron trigger asks it each time, and keeps it awake.
   */
  readonly alarm?: ((env: Env) => AlarmNamespace | undefined) | undefined;
  /**
   * How many of these objects share the minutes: one takes some 500 new waits a second. Default: 1. Where it becomes less,
   * the cron trigger no longer looks after the others: they still ring, but what they drop is found by the sweep.
   */
  readonly alarmShards?: number | undefined;
  /**
   * With `alarm`: how often the cron trigger has the database looked through nevertheless, in case an alarm was lost or
   * bare SQL armed none. Default: "6 hours".
   */
  readonly sweep?: Duration | false | undefined;
  /**
   * Without a `queue`: a service binding of this Worker to itself, by which it asks itself to carry out turns. Default:
   * `publicUrl`, which is for Custom Domains: a `fetch` to a route of one's own zone passes Workers by, and one to
   * workers.dev is refused.
   *
   * `wrangler types` gives it the type of this very Worker. TypeScript gets out of that circle where it is told:
   * `const worker: CloudflareWorker<Env> = serve({ … }); export default worker;`
   */
  readonly self?: ((env: Env) => Fetcher | undefined) | undefined;
  /**
   * Name of the environment. A database belongs to one. API keys and callback links that name another environment are
   * refused. Default: "default"; keys and links do not name that one.
   */
  readonly environment?: ((env: Env) => string | undefined) | undefined;
  /**
   * Id of the deployed version of this Worker: `(env) => env.CF_VERSION_METADATA?.id`, from the binding
   * `version_metadata`. The first tick of a new version looks at all runs that are ready or blocked. Default: a digest
   * of the workflows' handlers. Such a digest does not change when only imported code changes, so blocked runs then
   * stay blocked.
   */
  readonly deployment?: ((env: Env) => string | undefined) | undefined;
  /** Name of this Worker among the hosts that share the database. Its deployments replace each other. Default: "cloudflare". */
  readonly deploymentName?: string | undefined;
  /**
   * Who calls, where that is not told by an API key but by a session of your own, say. It is asked first; whom it does
   * not know may still have a key. Where a cookie tells who calls, have it refuse other sites' requests: look at `Origin`.
   */
  readonly authenticate?: ((request: Request, env: Env) => ReturnType<Authenticate>) | undefined;
  /** The other websites that may call this Worker from a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /** Runs of other namespaces in the same database are none of ours. Default: "default". */
  readonly namespace?: string | undefined;
  /** The prefix of every path: `/layover`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Without a `queue`: how many turns one request carries of what is ready together; more, up to 200, if that were more
   * than 30 requests. Default: 10.
   */
  readonly batch?: number | undefined;
  /**
   * How many steps one request or delivery carries out in all, and how long it goes on beginning new ones: each is
   * recorded and the next one claimed by one statement. Default: 10 and 5 s.
   */
  readonly invocation?: { readonly maxSteps?: number; readonly budgetMs?: number } | undefined;
}

/*
 * Of Cloudflare's runtime, as much as is used, in the shapes that it has. The types that `wrangler types` or
 * @cloudflare/workers-types make fit them, and nobody needs to have either.
 */

/** The context of one invocation. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

/** What a cron trigger hands over. */
export interface ScheduledController {
  readonly scheduledTime: number;
  readonly cron: string;
}

/** A service binding. */
export interface Fetcher {
  fetch(url: string, request: RequestInit): Promise<Response>;
}

/** What a queue delivers. */
export interface MessageBatch {
  readonly queue: string;
  readonly messages: readonly QueuedMessage[];
}
