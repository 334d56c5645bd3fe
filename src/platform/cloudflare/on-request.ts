/**
 * Answers a request: of the world, or of the Worker itself, which asks for turns.
 *
 * A Worker without a queue asks itself by signed requests. Each carries out its turns, and is answered when their steps
 * are recorded. Whoever sent it waits. At the root of such a chain is an alarm, a cron trigger, or what `waitUntil`
 * holds, which is cut 30 s after the answer. If the root is cut, so is every request below it, with its steps. So each
 * request is told until when it may begin steps, which is well before that. The next tick does what is left then. One
 * step alone may still take longer than what is left, more than 10 s. It is given up amid its body, and is carried out
 * again when its lease has ended.
 */
import { LayoverError } from "../../core/errors.ts";
import { besideApiKeys } from "../../http/access.ts";
import { readTurns, turnsPath } from "../../http/internal.ts";
import { answering } from "../../http/prefix.ts";
import { problem, shownError, statusOf } from "../../http/problem.ts";
import { createSite } from "../../http/site.ts";
import { mountWebhooks } from "../../http/webhooks/mount.ts";
import { read } from "./isolate.ts";
import type { ExecutionContext } from "./options.ts";
import { laterQueue } from "./queue/later-deliveries.ts";
import type { ServedWorker } from "./served-worker.ts";

/** How long after the answer steps are begun. `waitUntil` is cut 30 s after the answer. */
const afterAnswerMs = 20_000;

export async function onRequest<Env>(
  worker: ServedWorker<Env>,
  request: Request,
  env: Env,
  context: ExecutionContext,
): Promise<Response> {
  const { prefix, report } = worker;
  try {
    const isInternal = request.method === "POST" && new URL(request.url).pathname === `${prefix}${turnsPath}`;
    return isInternal ? await carryOutForSelf(worker, request, env) : await answer(worker, request, env, context);
  } catch (error) {
    const shown = shownError(error);
    if (statusOf(shown) >= 500) report(error, answering(request));
    return problem(shown);
  }
}

/** Carries out the turns that the Worker has asked itself for. */
async function carryOutForSelf<Env>(worker: ServedWorker<Env>, request: Request, env: Env): Promise<Response> {
  const { host, namespace, isolateOf, begin } = worker;
  const { turns, hops, until } = await readTurns(request, {
    secrets: isolateOf(env).secrets,
    namespace,
    nowMs: host.now(),
  });
  if (host.now() >= until) return problem(notCarriedOut("too_late", "the request came after its end"));
  const requestId = request.headers.get("cf-ray") ?? undefined;
  const { engine, end } = begin(env, { hops, until: () => until, turns: turns.length, requestId });
  const isClaimed = await engine.carryOut(turns);
  await end();
  // Why not was reported, to the operator.
  if (!isClaimed) return problem(notCarriedOut("database_unavailable", "the turns could not be claimed"));
  return new Response(null, { status: 204 });
}

/** Answers whoever calls from outside. */
async function answer<Env>(
  worker: ServedWorker<Env>,
  request: Request,
  env: Env,
  context: ExecutionContext,
): Promise<Response> {
  const { options, host, namespace, prefix, report, tell, isolateOf } = worker;
  const { workflows, webhooks, dashboard, openapi, replayCheck, cors, authenticate } = options;
  const { secrets, publicUrl, remembered, rooms, deployment } = isolateOf(env);
  const queue = webhooks && read("queue", () => options.queue?.(env));
  return await inRequest(worker, env, context, async ({ client, environment }) => {
    const terms = { secrets, namespace, environment };
    const site = createSite({
      ...terms,
      contracts: workflows.map(({ contract }) => contract),
      remembered,
      rooms,
      prefix,
      cors,
      client,
      webhooks: mountWebhooks(webhooks, { env, tell, queue: queue && laterQueue(queue, host) }),
      dashboard: dashboard?.mount,
      publicUrl,
      openapi,
      replayCheck: replayCheck?.({ ...options, deployment }),
      authenticate: authenticate && besideApiKeys((asking) => authenticate(asking, env), terms),
      onError: (error) => report(error, answering(request)),
    });
    return await site.fetch(request);
  });
}

/** Begins the invocation of a request from outside, and ends it after its answer. */
export async function inRequest<Env, Answer>(
  { host, begin }: ServedWorker<Env>,
  env: Env,
  context: ExecutionContext,
  act: (invocation: ReturnType<ServedWorker<Env>["begin"]>) => Promise<Answer>,
): Promise<Answer> {
  let answeredAt: number | undefined;
  const until = () => (answeredAt ?? host.now()) + afterAnswerMs;
  const invocation = begin(env, { until, keepAlive: (sent) => context.waitUntil(sent) });
  try {
    return await act(invocation);
  } finally {
    answeredAt = host.now();
    context.waitUntil(invocation.end());
  }
}

/** Both are 503: whoever asked is not to take the turns for tried. */
function notCarriedOut(code: "too_late" | "database_unavailable", message: string): LayoverError {
  return new LayoverError(code, message, { hint: "The next tick goes on with the runs." });
}
