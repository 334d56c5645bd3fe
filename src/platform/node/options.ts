/** What `serve` of Node is given, and what it answers. */
import type { Client } from "../../client/over-postgres/client.ts";
import type { Authenticate } from "../../http/access.ts";
import type { Dashboard } from "../../http/dashboard/mount.ts";
import type { MountOpenApi } from "../../http/openapi/mount.ts";
import type { MountReplayCheck } from "../../http/replay-check/mount.ts";
import type { CorsOptions } from "../../http/site.ts";
import type { Variables } from "../../http/webhooks/verifier.ts";
import type { Webhook } from "../../http/webhooks/webhook.ts";
import type { CloseOptions, InProcessOptions } from "./in-process/options.ts";
import type { ProcessesOptions } from "./neighbours/door.ts";

export interface NodeOptions extends Omit<InProcessOptions, "secrets"> {
  /** The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. */
  readonly secrets: readonly (string | undefined)[];
  /** The port. It may be a text, as in an environment variable. 0: any free port. Default: 3000. */
  readonly port?: number | string | undefined;
  /** Which address to listen on. Default: all of this machine. */
  readonly hostname?: string | undefined;
  /** The prefix of every path: `/layover`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * The senders that may start runs and send signals: `webhook(…)` of `layover/webhooks`. They read the variables of the
   * process. Default: none.
   */
  readonly webhooks?: readonly Webhook<Variables>[] | undefined;
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
   * Says who calls, by a session of your own, say. It is asked before the API key is looked at, and a caller that it does
   * not know may still have a key. If a cookie says who calls, refuse requests of other websites: look at `Origin`.
   */
  readonly authenticate?: Authenticate | undefined;
  /** The other websites that may call this server from a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /**
   * How the server prints what handlers log, and the events that an operator must see, where you take neither. "json": one
   * line of JSON each, with `time`, `level`, `message`, `workflow`, `runId`, `fields`, and where it is known `step`,
   * `attempt`, `trace_id` and `span_id`. Default: "text", lines for people.
   */
  readonly logs?: "text" | "json" | undefined;
  /** Answers `GET /`, as when somebody opens it in a browser. Default: 404, with a problem document. */
  readonly home?: (() => Response) | undefined;
  /**
   * The address at which the world reaches this server, with the prefix. Deployments on other hosts ring there, if they share
   * its database; without it they ring at its door. Default: `http://localhost`, the port and the
   * prefix.
   */
  readonly publicUrl?: string | undefined;
  /**
   * Settings for several processes on one database. With a `door` each, they ring for each other: if one dies, another
   * one wakes what it was to wake. Without doors a process that dies takes its alarms with it, so let a cron call
   * `POST /v1/wake` each minute. Default: no door.
   */
  readonly processes?: ProcessesOptions | undefined;
}

export interface NodeServer {
  /** The address of this server, with the prefix, without a slash at the end. */
  readonly url: string;
  readonly client: Client;
  /**
   * Ends this server: nothing more begins. Resolves when requests and steps under way have ended. Meanwhile it still
   * answers requests, and `GET /health` answers 503, so that a load balancer sends no more. A step that takes longer
   * than the grace has its `abortSignal` fired, and the next process begins it again. Default of the grace: 10 seconds.
   */
  close(options?: CloseOptions): Promise<void>;
}
