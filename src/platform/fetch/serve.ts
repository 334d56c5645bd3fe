/**
 * layover on a host that calls a function with a `Request` and wants a `Response`: Vercel, Netlify, Deno, Bun, Next.js,
 * SvelteKit.
 *
 *   export default { fetch: serve({ workflows: [orderWorkflow], database: () => neon(process.env.DATABASE_URL),
 *     secrets: () => [process.env.LAYOVER_SECRET], publicUrl: () => process.env.PUBLIC_URL,
 *     alarm: () => process.env.LAYOVER_ALARM, waitUntil }) };
 *
 * A request carries out what it has made ready, until its time is over. What is left, and what is to happen later, is
 * armed at the alarm, a Worker of `layover/alarm`, which asks for a tick by a signed request.
 */
import type { Variables } from "../../http/webhooks/verifier.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { onRequest } from "./on-request.ts";
import type { FetchOptions, WaitUntil } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import { servedBy } from "./served.ts";

/** Answers requests. `context`: what the host hands over beside the request. If that has `waitUntil`, it is used. */
export type FetchHandler = (request: Request, context?: unknown) => Promise<Response>;

/**
 * Serves workflows as a function of requests. What handlers log goes to the console, unless you take it by `onLog`. So do
 * the events that an operator must see, one object each, unless you take all events by `onEvent`, or the errors among them
 * by `onError`.
 *
 * @throws LayoverError when the module is loaded: `duplicate_workflow`, `invalid_name` for the namespace,
 *   `invalid_duration` for `limit` and `leaseMs`, `invalid_request` for `batch` and `concurrency`
 * @example Bun.serve({ fetch: serve({ workflows, database, secrets, publicUrl, alarm, waitUntil: () => {} }) });
 */
export function serve(options: FetchOptions): FetchHandler {
  const { process }: { process?: { readonly env?: Variables } } = globalThis;
  return handlerOf(options, {
    host: hostClock,
    send: (...request) => fetch(...request),
    env: process?.env ?? {},
    engine: {},
  });
}

/** What the host calls. */
export function handlerOf(options: FetchOptions, runtime: Runtime): FetchHandler {
  const served = servedBy(options, runtime);
  return (request, context) => onRequest(served, request, options.waitUntil ?? waitUntilIn(context));
}

function waitUntilIn(context: unknown): WaitUntil | undefined {
  const { waitUntil }: { waitUntil?: unknown } = Object(context);
  return typeof waitUntil === "function" ? (work) => void waitUntil.call(context, work) : undefined;
}
