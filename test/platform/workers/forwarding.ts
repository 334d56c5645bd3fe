/**
 * Adds `POST /forward?until=URL`: the Worker sends that request on to its `…/internal/turns`, and answers when URL has
 * answered. So whoever carries out the turns loses its caller, as after the 30 s of `waitUntil`.
 */
import type { CloudflareWorker, ExecutionContext, Fetcher } from "layover/cloudflare";

interface Env {
  readonly PUBLIC_URL: string;
  readonly SELF?: Fetcher;
}

export function forwarding<E extends Env>(worker: CloudflareWorker<E>): CloudflareWorker<E> {
  return {
    ...worker,
    async fetch(request: Request, env: E, context: ExecutionContext): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/forward") return await worker.fetch(request, env, context);
      const { headers, method } = request;
      const body = await request.text();
      env.SELF?.fetch(`${env.PUBLIC_URL}/internal/turns`, { method, headers, body }).catch(() => {});
      await fetch(searchParams.get("until") ?? "");
      return new Response(null, { status: 204 });
    },
  };
}
