/**
 * Has a Worker end what it has at work before another build takes its place, as Cloudflare does in a release: Miniflare kills it
 * amid its work. `POST /drain` is answered when the Worker is no longer at work. What reaches it from then on is not begun.
 */
import type { CloudflareWorker } from "layover/cloudflare";

let atWork = 0;
let isDraining = false;

/** Carries out an invocation, and counts it until it is over. */
export async function drainable<Answer>(carryOut: () => Promise<Answer>): Promise<Answer> {
  if (isDraining) {
    await delay(60_000); // the Worker is gone by then
    throw new Error("another build takes the place of this Worker");
  }
  atWork += 1;
  try {
    return await carryOut();
  } finally {
    atWork -= 1;
  }
}

export function draining<E>(worker: CloudflareWorker<E>): CloudflareWorker<E> {
  return {
    async fetch(request, env, context) {
      if (new URL(request.url).pathname === "/drain") return await drain();
      const counting = {
        waitUntil(promise: Promise<unknown>) {
          atWork += 1;
          context.waitUntil(promise.finally(() => (atWork -= 1)));
        },
      };
      return await drainable(() => worker.fetch(request, env, counting));
    },
    scheduled: (controller, env) => drainable(() => worker.scheduled(controller, env)),
    queue: (batch, env) => drainable(() => worker.queue(batch, env)),
  };
}

/** Looks again and again: an invocation cannot wait for a promise of another one. */
async function drain(): Promise<Response> {
  isDraining = true;
  while (atWork > 0) await delay(10);
  return new Response();
}

async function delay(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
