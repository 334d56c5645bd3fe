/** What `serve` is given on a host that answers requests by a function. */
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
import type { Variables } from "../../http/webhooks/verifier.ts";
import type { Webhook } from "../../http/webhooks/webhook.ts";

type Settings = Pick<EngineOptions, "leaseMs" | "keepMs" | "keepFailedMs" | "onLog" | "onEvent" | "onError">;

/** Keeps the host's invocation alive until the promise settles. */
export type WaitUntil = (work: Promise<unknown>) => void;

export interface FetchOptions extends Settings {
  readonly workflows: readonly Workflow[];
  /** The schedules that it declares: `schedule(…)`. They are registered by the first tick of a new build. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /**
   * The senders that may start runs and send signals: `webhook(…)` of `layover/webhooks`. They read the variables of the
   * process. Default: none.
   */
  readonly webhooks?: readonly Webhook<Variables>[] | undefined;
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
   * Traces and metrics by OpenTelemetry: `telemetry()` of `layover/telemetry`. Default: there are none, and nothing of it is
   * loaded.
   */
  readonly telemetry?: Telemetry | undefined;
  /** The pages for people, at `/dashboard/`: `dashboard()` of `layover/dashboard`. Default: there are none. */
  readonly dashboard?: Dashboard | undefined;
  /**
   * Opens the database: `() => neon(process.env.DATABASE_URL)`. It is called with the first request of a process, and what
   * it answers stays open. A host may load this code while it builds, when there are no variables yet.
   */
  readonly database: () => Query;
  /** The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. */
  readonly secrets: () => readonly (string | undefined)[];
  /** The address at which the world reaches this deployment, with the prefix. Callbacks are answered there. */
  readonly publicUrl: () => string | undefined;
  /**
   * The address of this deployment at its alarm, a Worker of `layover/alarm`:
   * `() => "https://alarm.example.workers.dev/apps/orders"`. It rings when something is due, so nobody asks the database
   * while nothing is due. Default: there is none. Then something must call `POST /v1/wake` each minute, which keeps the
   * database awake.
   */
  readonly alarm?: (() => string | undefined) | undefined;
  /**
   * Keeps an invocation alive after its answer, until what it has begun is done: `waitUntil` of `@vercel/functions`. In a
   * process that stays, such as that of Bun and of Deno, it has nothing to do: `() => {}`. Default: `waitUntil` of the
   * function's second argument, as Netlify gives it. Where that has none, a request is answered only after what it has begun.
   */
  readonly waitUntil?: WaitUntil | undefined;
  /**
   * How long the host lets one invocation take, with what goes on after its answer. New steps are begun until half of it,
   * or until 65 s before its end. A step whose timeout is longer than a minute, and than what is left, waits for the next
   * invocation. One whose timeout is longer than `limit`, and longer than a minute, fails before it begins.
   * Default: "60 seconds".
   */
  readonly limit?: Duration | undefined;
  /**
   * Name of the environment. A database belongs to one. API keys and callback links that name another environment are
   * refused. Default: the variable LAYOVER_ENVIRONMENT, else "default"; keys and links do not name that one.
   */
  readonly environment?: (() => string | undefined) | undefined;
  /**
   * Id of the deployed code, such as `() => process.env.VERCEL_DEPLOYMENT_ID`. The first tick of a new one looks at all runs
   * that are ready or blocked. Default: the variable LAYOVER_DEPLOYMENT, else a digest of the workflows' handlers.
   */
  readonly deployment?: (() => string | undefined) | undefined;
  /** Name of this deployment among the hosts that share the database. Its deployments replace each other. Default: "fetch". */
  readonly deploymentName?: string | undefined;
  /**
   * Says who calls, by a session of your own, say. It is asked before the API key is looked at, and a caller that it does
   * not know may still have a key. If a cookie says who calls, refuse requests of other websites: look at `Origin`.
   */
  readonly authenticate?: Authenticate | undefined;
  /** The other websites that may call from a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /** Which runs of the database are this deployment's: those of this namespace. Default: "default". */
  readonly namespace?: string | undefined;
  /** The prefix of every path: `/layover`. Default: none. */
  readonly prefix?: string | undefined;
  /** How many turns one claim carries, and how many claims are at work at once in one request. Default: 10 and 4. */
  readonly batch?: number | undefined;
  readonly concurrency?: number | undefined;
}
