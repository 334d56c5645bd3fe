/** What `serve` of Cloudflare is given, by the user and by Cloudflare's runtime. */
import type { Workflow } from "../../core/contract/contract.ts";
import type { Schedule } from "../../core/contract/schedule.ts";
import type { Duration } from "../../core/duration.ts";
import type { Query } from "../../core/ports.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { Telemetry } from "../../engine/telemetry.ts";
import type { Authenticate } from "../../http/access.ts";
import type { Dashboard } from "../../http/dashboard/mount.ts";
import type { MountOpenApi } from "../../http/openapi/mount.ts";
import type { MountReplayCheck } from "../../http/replay-check/mount.ts";
import type { CorsOptions } from "../../http/site.ts";
import type { Webhook } from "../../http/webhooks/webhook.ts";
import type { AlarmNamespace } from "./alarm/layover-alarm.ts";
import type { QueuedMessage } from "./queue/queue-delivery.ts";
import type { QueueProducer } from "./queue/queue-dispatch.ts";

type Settings = Pick<EngineOptions, "leaseMs" | "keepMs" | "keepFailedMs" | "onLog" | "onEvent" | "onError">;

export interface CloudflareOptions<Env> extends Settings {
  readonly workflows: readonly Workflow[];
  /** The schedules that it declares: `schedule(…)`. They are registered by the first tick of a new build. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /** The senders that may start runs and send signals: `webhook(…)` of `layover/webhooks`. Default: none. */
  readonly webhooks?: readonly Webhook<Env>[] | undefined;
  /**
   * Traces and metrics by OpenTelemetry: `telemetry()` of `layover/telemetry`. Default: there are none, and nothing of it is
   * loaded.
   */
  readonly telemetry?: Telemetry | undefined;
  /** The pages for people, at `/dashboard/`: `dashboard()` of `layover/dashboard`. Default: there are none. */
  readonly dashboard?: Dashboard | undefined;
  /**
   * The OpenAPI document at `/openapi.json`: `openapi()` of `layover/openapi`. Those who have an API key may read it.
   * Default: there is none.
   */
  readonly openapi?: MountOpenApi | undefined;
  /**
   * Has this deployment say whether its code fits the runs under way, for `layover replay-check --at URL`: `replayCheck()` of
   * `layover/replay-check`. Default: it does not.
   */
  readonly replayCheck?: MountReplayCheck | undefined;
  /**
   * Opens the database: `neon(env.DATABASE_URL)`, or by TCP and with nodejs_compat
   * `pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 }))`. It is called in each request that sends a statement.
   * If the answer has an `end`, that is called before the request ends. A request may have six connections open, those
   * of requests that it calls by bindings included. So a request ends its own before it waits for another.
   */
  readonly database: (env: Env) => Query & { readonly end?: () => Promise<void> };
  /** The address at which the world reaches this Worker, with the prefix. Callbacks are answered there. */
  readonly publicUrl: (env: Env) => string | undefined;
  /** The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. */
  readonly secrets: (env: Env) => readonly (string | undefined)[];
  /**
   * A queue that this Worker both sends to and consumes (by `queue` of what `serve` answers). By its messages the Worker
   * asks itself to carry out turns, and deliveries of webhooks that were answered before. A message that could not be delivered again and again goes to a dead-letter queue.
   * Name that one `…-dead`, and consume it as well: then the log tells what became of each run. The name of the first
   * queue must not end so.
   */
  readonly queue?: ((env: Env) => QueueProducer | undefined) | undefined;
  /**
   * The Durable Objects of the class `LayoverAlarm`. They ring when something is due, so nobody asks the database while
   * nothing is due. Default: the cron trigger asks the database each time, and keeps it awake.
   */
  readonly alarm?: ((env: Env) => AlarmNamespace | undefined) | undefined;
  /**
   * How many of these objects share the minutes. One takes some 500 new waits a second. Default: 1. If you lower it, the
   * cron trigger no longer looks after the objects that are left out. They still ring. If one of their alarms is
   * dropped, the sweep finds its runs.
   */
  readonly alarmShards?: number | undefined;
  /**
   * How often the cron trigger looks through the database even though `alarm` is given: an alarm may have been lost, and
   * bare SQL arms none. Default: "6 hours".
   */
  readonly sweep?: Duration | false | undefined;
  /**
   * A service binding of this Worker to itself, for use without a `queue`. By it the Worker asks itself to carry out
   * turns. Default: `publicUrl`. That works with a Custom Domain only: a `fetch` to a route of one's own zone passes
   * Workers by, and one to workers.dev is refused.
   *
   * `wrangler types` gives the binding the type of this very Worker, which is a circle. Name the type to break it:
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
   * Says who calls, by a session of your own, say. It is asked before the API key is looked at, and a caller that it does
   * not know may still have a key. If a cookie says who calls, refuse requests of other websites: look at `Origin`.
   */
  readonly authenticate?: ((request: Request, env: Env) => ReturnType<Authenticate>) | undefined;
  /** The other websites that may call this Worker from a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /** Which runs of the database are this Worker's: those of this namespace. Default: "default". */
  readonly namespace?: string | undefined;
  /** The prefix of every path: `/layover`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * How many turns one request to itself carries, for use without a `queue`. It carries more, up to 200, if there would
   * be more than 30 requests. Default: 10.
   */
  readonly batch?: number | undefined;
  /**
   * How many steps one request or delivery carries out in all, and how long it goes on beginning new ones. One statement
   * records a step and claims the next one. Default: 10 and 5 s.
   */
  readonly invocation?: { readonly maxSteps?: number; readonly budgetMs?: number } | undefined;
}

/*
 * The parts of Cloudflare's runtime that are used. The types that `wrangler types` or @cloudflare/workers-types make fit
 * them, and nobody needs to have either.
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
