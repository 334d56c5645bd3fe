/** What `serve` of Lambda is given, by the user and by Lambda's runtime. */
import type { Workflow } from "../../core/contract/contract.ts";
import type { Schedule } from "../../core/contract/schedule.ts";
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
import type { Parameter } from "./parameters.ts";

type Settings = Pick<EngineOptions, "leaseMs" | "keepMs" | "keepFailedMs" | "onLog" | "onEvent" | "onError">;

export interface LambdaOptions extends Settings {
  readonly workflows: readonly Workflow[];
  /** The schedules that it declares: `schedule(…)`. They are registered by the first tick of a new build. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /** The senders that may start runs and send signals: `webhook(…)` of `layover/webhooks`. Default: none. */
  readonly webhooks?: readonly Webhook<Variables>[] | undefined;
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
   * Opens the database: `(parameter) => neon(parameter("database-url"))`. It is called once in each environment, and again
   * when the parameters have changed. What it answers stays open from one invocation to the next.
   */
  readonly database: (parameter: Parameter) => Query;
  /**
   * The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. Default: the
   * parameters `secret` and `secret-old`.
   */
  readonly secrets?: ((parameter: Parameter) => readonly (string | undefined)[]) | undefined;
  /**
   * The address at which the world reaches the function `http`, with the prefix. Callbacks are answered there. Default: the
   * parameter `public-url`, which the construct writes.
   */
  readonly publicUrl?: ((parameter: Parameter) => string) | undefined;
  /**
   * Further parameters that `database`, `secrets`, `publicUrl` and webhooks read: up to six. A webhook finds the parameter
   * `stripe-secret` as `env.STRIPE_SECRET`. Default: none.
   */
  readonly parameters?: readonly string[] | undefined;
  /**
   * Name of the environment. A database belongs to one. API keys and callback links that name another environment are
   * refused. Default: the variable LAYOVER_ENVIRONMENT, else "default"; keys and links do not name that one.
   */
  readonly environment?: string | undefined;
  /**
   * Id of the deployed code. The first tick of a new one looks at all runs that are ready or blocked. Default: the variable
   * LAYOVER_DEPLOYMENT, which the construct sets, else a digest of the workflows' handlers.
   */
  readonly deployment?: string | undefined;
  /** Name of this stack among the hosts that share the database. Its deployments replace each other. Default: "lambda". */
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
  /** How many turns one invocation carries, from 1 to 1,000. Default: 10. */
  readonly batch?: number | undefined;
  /**
   * How many steps one invocation carries out in all, and how long it goes on beginning new ones. One statement records a
   * step and claims the next one. Default: 10 and 5 s.
   */
  readonly invocation?: { readonly maxSteps?: number; readonly budgetMs?: number } | undefined;
}

/*
 * The parts of Lambda's runtime that are used. The types of @types/aws-lambda fit them, and nobody needs to have those.
 */

/** The context of one invocation. */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** What Amazon SQS delivers. */
export interface QueueEvent {
  readonly Records: readonly { readonly messageId: string; readonly body: string }[];
}

/** The messages that must come again. */
export interface QueueAnswer {
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}
