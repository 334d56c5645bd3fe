/**
 * layover on Cloudflare Workers: the HTTP face, turns by signed requests to itself, and the scheduler by cron.
 *
 *   export default serve<Env>({ workflows: [orderWorkflow], database: (env) => neon(env.DATABASE_URL),
 *     publicUrl: (env) => env.PUBLIC_URL, secrets: (env) => [env.LAYOVER_SECRET], self: (env) => env.SELF });
 *
 * A step is carried out within a request that is answered when the step is recorded. Whoever asked for it waits; at the
 * root that is a cron trigger, which has 15 minutes, or what `waitUntil` holds, which is cut 30 s after the answer. Is the
 * root cut, so is every request below it, and the steps in them. So each request is told until when it may begin steps:
 * some time before that, and what is left then is the next cron trigger's. What remains is a step that alone takes longer
 * than what is left, more than 10 s: it may be given up amid its body, and is carried out again when its lease is over.
 */
import { Hono } from "hono/tiny";
import { LayoverError } from "../core/errors.ts";
import { checkNamespace } from "../core/names.ts";
import type { LogEntry } from "../engine/options.ts";
import { Registry } from "../engine/registry.ts";
import { besideApiKeys } from "../http/access.ts";
import { createApp } from "../http/app.ts";
import { readTurns, turnsPath } from "../http/internal.ts";
import { problem, shownError, statusOf } from "../http/problem.ts";
import type { CloudflareOptions, ExecutionContext, ScheduledController } from "./cloudflare-options.ts";
import { beginVisit, type Visit, type VisitOptions } from "./cloudflare-visit.ts";
import { type Isolate, newIsolate } from "./isolate.ts";
import { prefixOf, shownPath } from "./prefix.ts";

export type { Authenticate, Caller } from "../http/access.ts";
export type { CloudflareOptions, ExecutionContext, Fetcher, ScheduledController } from "./cloudflare-options.ts";

/** How long steps are begun: well before `waitUntil` is cut, and a cron trigger. */
const afterAnswerMs = 20_000;
const afterRingMs = 13 * 60_000;

/** A Worker's default export. Both functions stand on their own: `app.mount("/layover", worker.fetch)`. */
export interface CloudflareWorker<Env> {
  readonly fetch: (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;
  readonly scheduled: (controller: ScheduledController, env: Env) => Promise<void>;
}

/**
 * What handlers log and what goes wrong goes to the console, unless you take it by `onLog` and `onError`.
 *
 * @throws LayoverError `duplicate_workflow`, `invalid_name` for the namespace, when it is deployed
 * @example export default serve<Env>({ workflows, database: ({ DATABASE_URL }) => neon(DATABASE_URL), secrets });
 */
export function serve<Env extends object>(options: CloudflareOptions<Env>): CloudflareWorker<Env> {
  const { workflows, onLog = printLog, onError = printError } = options;
  // A Worker's module is run before it is deployed, its requests are not.
  const { versions } = new Registry(workflows);
  const namespace = checkNamespace(options.namespace ?? "default");
  const contracts = workflows.map(({ contract }) => contract);
  const prefix = prefixOf(options.prefix);
  const isolates = new WeakMap<Env, Isolate>();

  const isolateOf = (env: Env): Isolate => {
    const isolate = isolates.get(env) ?? newIsolate({ ...options, versions }, env);
    isolates.set(env, isolate);
    return isolate;
  };
  const begin = (env: Env, visit: VisitOptions): Visit =>
    beginVisit({ ...options, namespace, onLog, onError, isolate: isolateOf(env) }, env, visit);

  const carryOut = async (request: Request, env: Env): Promise<Response> => {
    const { turns, hops, until } = await readTurns(request, { secrets: isolateOf(env).secrets, namespace });
    if (Date.now() >= until) return problem(notCarriedOut("too_late", "the request came after its end"));
    const requestId = request.headers.get("cf-ray") ?? undefined;
    const { engine, settle } = begin(env, { hops, until: () => until, turns: turns.length, requestId });
    const isClaimed = await engine.carryOut(turns);
    await settle();
    // Why not was reported, to the operator.
    if (!isClaimed) return problem(notCarriedOut("database_unavailable", "the turns could not be claimed"));
    return new Response(null, { status: 204 });
  };

  const answer = async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    const { secrets } = isolateOf(env);
    let answeredAt: number | undefined;
    const until = () => (answeredAt ?? Date.now()) + afterAnswerMs;
    const { client, settle } = begin(env, { hops: 0, until, hold: (sent) => context.waitUntil(sent) });
    const report = (error: unknown) => onError(error, `answering ${request.method} ${shownPath(request)}`);
    const bySession = options.authenticate;
    const authenticate = bySession && besideApiKeys((asking) => bySession(asking, env), secrets, namespace);
    const appOptions = { client, contracts, secrets, namespace, authenticate, onError: report };
    const app = new Hono().route(prefix, createApp(appOptions));
    try {
      return await app.fetch(request);
    } finally {
      answeredAt = Date.now();
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
        const until = Date.now() + afterRingMs;
        const { tick, settle } = begin(env, { hops: 0, until: () => until });
        await tick().finally(settle);
      } catch (error) {
        onError(error, "ticking");
        throw error; // so that Cloudflare counts it as failed
      }
    },
  };
}

/** Both are 503: whoever asked is not to take the turns for tried. */
function notCarriedOut(code: "too_late" | "database_unavailable", message: string): LayoverError {
  return new LayoverError(code, message, { hint: "The cron trigger goes on with the runs." });
}

/** As one object, whose fields Workers Logs can search by. */
function printLog({ level, message, workflow, runId, fields }: LogEntry): void {
  console[level]({ message, workflow, runId, fields });
}

function printError(error: unknown, doing: string): void {
  console.error(`error while ${doing}:`, error);
}
