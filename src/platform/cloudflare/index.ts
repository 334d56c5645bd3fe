/**
 * layover on Cloudflare Workers: the HTTP face, turns that a queue delivers, and an alarm in a Durable Object, so that
 * nobody asks the database while nothing is due.
 *
 *   export { printEvent } from "./print-event.ts";
export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ workflows: [orderWorkflow], database: (env) => neon(env.DATABASE_URL),
 *     publicUrl: (env) => env.PUBLIC_URL, secrets: (env) => [env.LAYOVER_SECRET],
 *     queue: (env) => env.QUEUE, alarm: (env) => env.ALARM });
 *
 * A delivery, an alarm and a cron trigger have 15 minutes each, and begin nothing in the last two.
 *
 * Without a queue the Worker asks itself by signed requests. A step is carried out within one, which is answered when the
 * step is recorded. Whoever asked for it waits; at the root that is an alarm, a cron trigger, or what `waitUntil` holds,
 * which is cut 30 s after the answer. Is the root cut, so is every request below it, and the steps in them. So each
 * request is told until when it may begin steps: some time before that, and what is left then is the next tick's. What
 * remains is a step that alone takes longer than what is left, more than 10 s: it may be given up amid its body, and is
 * carried out again when its lease is over.
 */
import { toMilliseconds } from "../../core/duration.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkNamespace } from "../../core/names.ts";
import { exceptErrors, reportTo } from "../../engine/events.ts";
import { guardHooks } from "../../engine/hooks.ts";
import { checkLeaseMs, type LogEntry } from "../../engine/options.ts";
import { Registry } from "../../engine/registry.ts";
import { besideApiKeys } from "../../http/access.ts";
import { readTurns, turnsPath } from "../../http/internal.ts";
import { answering, prefixOf } from "../../http/prefix.ts";
import { problem, shownError, statusOf } from "../../http/problem.ts";
import { createSite } from "../../http/site.ts";
import { codeOf, ringsWith, tickAll } from "./alarm/layover-alarm.ts";
import { watch } from "./alarm/watch.ts";
import { alarmsOf } from "./bindings.ts";
import { type Isolate, newIsolate } from "./isolate.ts";
import type { CloudflareOptions, ExecutionContext, MessageBatch, ScheduledController } from "./options.ts";
import { printEvent } from "./print-event.ts";
import { isOfDeadLetters, tellDeadLetters } from "./queue/dead-letters.ts";
import { deliver, retryLater } from "./queue/queue-delivery.ts";
import { beginVisit, type Visit, type VisitOptions, type VisitSettings } from "./visit.ts";

export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export { LayoverAlarm } from "./alarm/layover-alarm.ts";
export type {
  AlarmNamespace,
  CloudflareOptions,
  ExecutionContext,
  Fetcher,
  MessageBatch,
  ScheduledController,
} from "./options.ts";
export { printEvent } from "./print-event.ts";
export type { QueuedMessage } from "./queue/queue-delivery.ts";
export type { QueueProducer } from "./queue/queue-dispatch.ts";

/** How long steps are begun: well before `waitUntil` is cut, and everything else. */
const afterAnswerMs = 20_000;
const afterRingMs = 13 * 60_000;

/** A Worker's default export. Each function stands on its own: `app.mount("/layover", worker.fetch)`. */
export interface CloudflareWorker<Env> {
  readonly fetch: (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;
  readonly scheduled: (controller: ScheduledController, env: Env) => Promise<void>;
  readonly queue: (batch: MessageBatch, env: Env) => Promise<void>;
}

/**
 * What handlers log goes to the console, unless you take it by `onLog`. So do the events that an operator must see, one JSON
 * object each, unless you take all events by `onEvent`, or the errors among them by `onError`.
 *
 * @throws LayoverError when it is deployed: `duplicate_workflow`, `invalid_name` for the namespace, `invalid_duration` for
 *   `sweep`, `invalid_request` for `alarmShards`
 * @example export default serve<Env>({ workflows, database: ({ DATABASE_URL }) => neon(DATABASE_URL), secrets });
 */
export function serve<Env extends object>(options: CloudflareOptions<Env>): CloudflareWorker<Env> {
  const { workflows } = options;
  const { onLog: log = printLog, onError: hook } = options;
  const { onEvent = hook === undefined ? printEvent : exceptErrors(printEvent) } = options;
  const hooks = guardHooks({ onLog: log, onError: hook, onEvent });
  const { onLog, onEvent: tell } = hooks;
  const onError = reportTo(tell);
  // A Worker's module is run before it is deployed, its requests are not.
  const { versions } = new Registry(workflows);
  const namespace = checkNamespace(options.namespace ?? "default");
  const contracts = workflows.map(({ contract }) => contract);
  const prefix = prefixOf(options.prefix);
  const { sweep = "6 hours" } = options;
  const sweepMs = sweep === false ? undefined : toMilliseconds(sweep, { field: "sweep" });
  checkShards(options.alarmShards ?? 1);
  checkLeaseMs(options.leaseMs);
  const isolates = new WeakMap<Env, Isolate>();

  const isolateOf = (env: Env): Isolate => {
    const isolate = isolates.get(env) ?? newIsolate(options, env);
    isolates.set(env, isolate);
    return isolate;
  };
  const settingsOf = (env: Env): VisitSettings<Env> => ({
    ...options,
    namespace,
    ...hooks,
    onEvent: tell,
    report: onError,
    isolate: isolateOf(env),
  });
  const begin = (env: Env, visit: VisitOptions): Visit => beginVisit(settingsOf(env), env, visit);

  const tickAt = async (env: Env): Promise<{ due: number; isWhole: boolean }> => {
    const until = Date.now() + afterRingMs;
    const { tick, settle } = begin(env, { until: () => until });
    try {
      const { due } = await tick();
      return { due, isWhole: await settle() };
    } catch (error) {
      await settle();
      throw error;
    }
  };

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
    const { secrets, remembered } = isolateOf(env);
    let answeredAt: number | undefined;
    const until = () => (answeredAt ?? Date.now()) + afterAnswerMs;
    const { client, environment, settle } = begin(env, { until, hold: (sent) => context.waitUntil(sent) });
    const report = (error: unknown) => onError(error, answering(request));
    const bySession = options.authenticate;
    const terms = { secrets, namespace, environment };
    const authenticate = bySession && besideApiKeys((asking) => bySession(asking, env), terms);
    const { cors } = options;
    const known = { ...terms, contracts, remembered };
    const site = createSite({ ...known, prefix, cors, client, authenticate, onError: report });
    try {
      return await site.fetch(request);
    } finally {
      answeredAt = Date.now();
      context.waitUntil(settle());
    }
  };

  if (options.alarm !== undefined) {
    // A Durable Object has the bindings of its script, which are this Worker's.
    ringsWith({
      tick: async (bindings) => {
        try {
          return await tickAt(bindings as Env);
        } catch (error) {
          onError(error, "ticking");
          throw error;
        }
      },
      codeOf: (bindings) => ({ id: isolateOf(bindings as Env).deployment.id, carries: versionTexts(versions) }),
    });
  }

  return {
    fetch: async (request, env, context) => {
      try {
        const isInternal = request.method === "POST" && new URL(request.url).pathname === `${prefix}${turnsPath}`;
        return isInternal ? await carryOut(request, env) : await answer(request, env, context);
      } catch (error) {
        const shown = shownError(error);
        if (statusOf(shown) >= 500) onError(error, answering(request));
        return problem(shown);
      }
    },
    scheduled: async (_controller, env) => {
      try {
        const shards = alarmsOf(settingsOf(env), env);
        const tick = () => tickAll(env);
        const watching = shards && { shards, code: codeOf(env), sweepMs, tick, tell };
        await (watching ? watch(watching) : tickAt(env));
      } catch (error) {
        onError(error, "ticking");
        throw error; // so that Cloudflare counts it as failed
      }
    },
    queue: async ({ queue, messages }, env) => {
      try {
        const until = Date.now() + afterRingMs;
        const visit = begin(env, { until: () => until, turns: messages.length, isDelivery: true });
        const { engine, client, dispatcher, elsewhere, settle } = visit;
        if (isOfDeadLetters(queue)) await tellDeadLetters(messages, { client, onLog, onError });
        else
          await deliver(messages, {
            carryOut: (turns) => engine.carryOut(turns),
            elsewhere,
            settled: () => dispatcher.settled(),
            sendAnew: async (turns) => {
              await dispatcher.dispatch(turns, 0);
              await dispatcher.settled();
              return dispatcher.isWhole;
            },
            isOpen: () => Date.now() < until,
            onError,
          });
        await settle();
      } catch (error) {
        onError(error, "delivering");
        for (const message of messages) retryLater(message); // but those that are acknowledged
      }
    },
  };
}

/** Each as one text. */
function versionTexts(versions: Registry["versions"]): readonly string[] {
  return Object.entries(versions).flatMap(([name, numbers]) => numbers.map((number) => `${name}@${number}`));
}

function checkShards(alarmShards: number): void {
  if (Number.isInteger(alarmShards) && alarmShards > 0) return;
  throw new LayoverError("invalid_request", `alarmShards: ${alarmShards} is no number of Durable Objects`, {
    hint: "Give a whole number from 1 on.",
    details: { field: "alarmShards" },
  });
}

/** Both are 503: whoever asked is not to take the turns for tried. */
function notCarriedOut(code: "too_late" | "database_unavailable", message: string): LayoverError {
  return new LayoverError(code, message, { hint: "The next tick goes on with the runs." });
}

/** Prints a log entry as one object, whose fields can be searched in Workers Logs. */
function printLog({ level, message, workflow, runId, fields }: LogEntry): void {
  console[level]({ message, workflow, runId, fields });
}
