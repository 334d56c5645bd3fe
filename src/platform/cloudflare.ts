/**
 * layover on Cloudflare Workers: the HTTP face, turns by signed requests to itself, and the scheduler by cron.
 *
 *   export default serve<Env>({ workflows: [orderWorkflow], database: (env) => neon(env.DATABASE_URL),
 *     publicUrl: (env) => env.PUBLIC_URL, secrets: (env) => [env.LAYOVER_SECRET], self: (env) => env.SELF });
 *
 * A step is carried out within a request that is answered when the step is recorded, never in `waitUntil`, which is cut
 * 30 s after the answer. What waits there is who asked. Is that one cut, the request that it waits for is cancelled, and
 * the step with it: its lease runs out, and the cron trigger, which has 15 minutes, has it carried out again.
 */
import { Hono } from "hono/tiny";
import type { LogEntry } from "../engine/options.ts";
import { Registry } from "../engine/registry.ts";
import { createApp } from "../http/app.ts";
import { readTurns, turnsPath } from "../http/internal.ts";
import { problem, shownError, statusOf } from "../http/problem.ts";
import type { CloudflareOptions, ExecutionContext, ScheduledController } from "./cloudflare-options.ts";
import { beginVisit, type Visit, type VisitOptions } from "./cloudflare-visit.ts";
import { type Isolate, newIsolate } from "./isolate.ts";
import { prefixOf, shownPath } from "./prefix.ts";

export type { CloudflareOptions, ExecutionContext, Fetcher, ScheduledController } from "./cloudflare-options.ts";

/** A Worker's default export. Both functions stand on their own: `app.mount("/layover", worker.fetch)`. */
export interface CloudflareWorker<Env> {
  readonly fetch: (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;
  readonly scheduled: (controller: ScheduledController, env: Env) => Promise<void>;
}

/**
 * What handlers log and what goes wrong goes to the console, unless you take it by `onLog` and `onError`.
 *
 * @throws LayoverError `duplicate_workflow`, when it is deployed
 * @example export default serve<Env>({ workflows, database: ({ DATABASE_URL }) => neon(DATABASE_URL), secrets });
 */
export function serve<Env extends object>(options: CloudflareOptions<Env>): CloudflareWorker<Env> {
  const { workflows, namespace = "default", onLog = printLog, onError = printError } = options;
  new Registry(workflows); // a Worker's module is run before it is deployed, its requests are not
  const contracts = workflows.map(({ contract }) => contract);
  const prefix = prefixOf(options.prefix);
  const isolates = new WeakMap<Env, Isolate>();

  const isolateOf = (env: Env): Isolate => {
    const isolate = isolates.get(env) ?? newIsolate(options, env);
    isolates.set(env, isolate);
    return isolate;
  };
  const begin = (env: Env, visit: VisitOptions): Visit =>
    beginVisit({ ...options, namespace, onLog, onError, isolate: isolateOf(env) }, env, visit);

  const carryOut = async (request: Request, env: Env): Promise<Response> => {
    const { turns, hops } = await readTurns(request, { secrets: isolateOf(env).secrets, namespace });
    const requestId = request.headers.get("cf-ray") ?? undefined;
    const { engine, settle } = begin(env, { hops, turns: turns.length, requestId });
    await engine.carryOut(turns);
    await settle();
    return new Response(null, { status: 204 });
  };

  const answer = async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    const { secrets } = isolateOf(env);
    const { client, settle } = begin(env, { hops: 0, hold: (sent) => context.waitUntil(sent) });
    const report = (error: unknown) => onError(error, `answering ${request.method} ${shownPath(request)}`);
    const app = new Hono().route(prefix, createApp({ client, contracts, secrets, namespace, onError: report }));
    try {
      return await app.fetch(request);
    } finally {
      context.waitUntil(settle());
    }
  };

  return {
    fetch: async (request, env, context) => {
      try {
        const isInternal = request.method === "POST" && new URL(request.url).pathname === `${prefix}${turnsPath}`;
        return isInternal ? await carryOut(request, env) : await answer(request, env, context);
      } catch (error) {
        const shown = shownError(error);
        if (statusOf(shown) >= 500) onError(error, `answering ${request.method} ${shownPath(request)}`);
        return problem(shown);
      }
    },
    scheduled: async (_controller, env) => {
      try {
        const { tick, settle } = begin(env, { hops: 0 });
        await tick().finally(settle);
      } catch (error) {
        onError(error, "ticking");
        throw error; // so that Cloudflare counts it as failed
      }
    },
  };
}

/** As one object, whose fields Workers Logs can search by. */
function printLog({ level, message, workflow, runId, fields }: LogEntry): void {
  console[level]({ message, workflow, runId, fields });
}

function printError(error: unknown, doing: string): void {
  console.error(`error while ${doing}:`, error);
}
