/**
 * layover on AWS Lambda: the HTTP face, turns that are invoked asynchronously, and an alarm made of EventBridge's
 * schedules. So nobody asks the database while nothing is due.
 *
 *   export const { http, turns, tick, forward } = serve({ workflows: [orderWorkflow],
 *     database: (parameter) => neon(parameter("database-url")) });
 *
 * All four are handlers of one bundle. The construct of `layover/cdk` makes the functions, and what they need.
 */
import { hostClock } from "../../postgres/host-clock.ts";
import { awsServices } from "./aws/services.ts";
import { type HttpHandler, onHttp } from "./on-http.ts";
import { onQueue } from "./on-queue.ts";
import { onTick } from "./on-tick.ts";
import { onTurns } from "./on-turns.ts";
import type { LambdaContext, LambdaOptions, QueueAnswer, QueueEvent } from "./options.ts";
import { type LambdaRuntime, servedFunctions } from "./served-functions.ts";

/** The handlers of a deployment. Each stands on its own. */
export interface LambdaFunctions {
  /** Answers requests. */
  readonly http: HttpHandler;
  /** Carries out turns. */
  readonly turns: (event: unknown, context: LambdaContext) => Promise<void>;
  /** Does one pass of the scheduler. */
  readonly tick: (event: unknown, context: LambdaContext) => Promise<void>;
  /** Hands on what the queue brings. */
  readonly forward: (event: QueueEvent, context: LambdaContext) => Promise<QueueAnswer>;
}

/**
 * Serves workflows as functions of Lambda. What handlers log goes to the console, unless you take it by `onLog`. So do the
 * events that an operator must see, one object each, unless you take all events by `onEvent`, or the errors among them by
 * `onError`.
 *
 * @throws LayoverError when the module is loaded: `duplicate_workflow`, `invalid_name` for the namespace,
 *   `invalid_duration` for `leaseMs`, `invalid_request` for `batch` and `parameters`
 * @example export const { http, turns, tick, forward } = serve({ workflows, database: (parameter) => neon(parameter("database-url")) });
 */
export function serve(options: LambdaOptions): LambdaFunctions {
  return functionsOf(options, { host: hostClock, services: awsServices(hostClock), env: process.env, engine: {} });
}

/** What Lambda's runtime calls. */
export function functionsOf(options: LambdaOptions, runtime: LambdaRuntime): LambdaFunctions {
  const served = servedFunctions(options, runtime);
  keepAlive(served.report);
  return {
    http: onHttp(served),
    turns: (event, context) => onTurns(served, event, context),
    tick: (event, context) => onTick(served, event, context),
    forward: (event) => onQueue(served, event),
  };
}

/**
 * Lambda's runtime ends the process when a promise is rejected and nobody handles that. Then one body that forgets to
 * await takes all turns of its invocation with it. So such a rejection is reported instead.
 */
function keepAlive(report: (error: unknown, doing: string) => void): void {
  if (process.env["AWS_LAMBDA_RUNTIME_API"] === undefined) return;
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => report(error, "carrying out code that did not await a promise"));
}
