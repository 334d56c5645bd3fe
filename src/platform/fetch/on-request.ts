/** Answers a request: of the world, or of the alarm, which asks for a tick. */
import type { Client } from "../../client/over-postgres/client.ts";
import { pause } from "../../core/waits.ts";
import { sweepFound } from "../../engine/events.ts";
import { besideApiKeys } from "../../http/access.ts";
import { type RingAnswer, readRing, tickPath } from "../../http/alarm.ts";
import { answering } from "../../http/prefix.ts";
import { problem, shownError, statusOf } from "../../http/problem.ts";
import { createSite } from "../../http/site.ts";
import { mountWebhooks } from "../../http/webhooks/mount.ts";
import type { HostedInvocation } from "../invocation/begin-invocation.ts";
import type { WaitUntil } from "./options.ts";
import type { Served } from "./served.ts";

/** How long the alarm is let wait for the work of its tick. It gives up after 45 s. */
const ringMs = 20_000;

export async function onRequest(served: Served, request: Request, waitUntil?: WaitUntil): Promise<Response> {
  const { prefix, report } = served;
  const isRing = request.method === "POST" && new URL(request.url).pathname === `${prefix}${tickPath}`;
  try {
    if (isRing) return await awake(served, waitUntil, (end) => onRing(served, request, end));
    return await inRequest(served, waitUntil, (client) => answer(served, request, client));
  } catch (error) {
    const shown = shownError(error);
    if (statusOf(shown) >= 500) report(error, answering(request));
    return problem(shown);
  }
}

/** Answers a question of somebody outside, as a request does. What that begins goes on after the answer. */
export async function inRequest<Answer>(
  served: Served,
  waitUntil: WaitUntil | undefined,
  question: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  return await awake(served, waitUntil, async (end) => {
    const invocation = served.begin();
    try {
      return await question(invocation.client);
    } finally {
      void end(invocation);
    }
  });
}

type End = (invocation: HostedInvocation) => Promise<unknown>;

/** Has the process awake until the work is done, and what it has begun. */
async function awake<Answer>(
  { process, report }: Served,
  waitUntil: WaitUntil | undefined,
  work: (end: End) => Promise<Answer>,
): Promise<Answer> {
  process.wake();
  let ended: Promise<unknown> = Promise.resolve();
  const end: End = (invocation) => {
    ended = invocation.end().catch((error: unknown) => report(error, "ending an invocation"));
    return ended;
  };
  try {
    return await work(end);
  } finally {
    ended = ended.finally(() => process.rest());
    if (waitUntil === undefined) await ended;
    else waitUntil(ended);
  }
}

/** Does one pass of the scheduler, and carries out what it finds. */
async function onRing({ process, tell, begin }: Served, request: Request, end: End): Promise<Response> {
  const { host } = process;
  const { secrets, alarm } = process.load();
  // Where there is no alarm, nothing that is signed for its app counts.
  const app = alarm?.address.app ?? "";
  const { readyUntil, isSweep } = await readRing(request, { secrets, app, nowMs: host.now() });
  const invocation = begin();
  let ended: Promise<unknown> | undefined;
  try {
    const { due, isCutShort, hasSeenAll, triedThrough } = await invocation.tick(readyUntil);
    const looksAtAll = hasSeenAll || triedThrough !== undefined;
    if (isSweep && due > 0 && !looksAtAll) tell(sweepFound(due));
    ended = end(invocation);
    await Promise.race([ended, pause(host, ringMs)]);
    return Response.json({ more: isCutShort } satisfies RingAnswer, { headers: { "cache-control": "no-store" } });
  } finally {
    ended ??= end(invocation);
  }
}

/** Answers whoever calls from outside. */
async function answer(served: Served, request: Request, client: Client): Promise<Response> {
  const { options, namespace, prefix, process, report, tell } = served;
  const { workflows, webhooks, dashboard, openapi, replayCheck, cors, authenticate } = options;
  const { secrets, environment, publicUrl, deployment } = process.load();
  const terms = { secrets, namespace, environment };
  const site = createSite({
    ...terms,
    publicUrl,
    dashboard: dashboard?.mount,
    openapi,
    replayCheck: replayCheck?.({ ...options, deployment }),
    contracts: workflows.map(({ contract }) => contract),
    remembered: process.remembered,
    rooms: process.rooms,
    prefix,
    cors,
    client,
    webhooks: mountWebhooks(webhooks, { env: process.variables, tell }),
    authenticate: authenticate && besideApiKeys(authenticate, terms),
    onError: (error) => report(error, answering(request)),
  });
  return await site.fetch(request);
}
