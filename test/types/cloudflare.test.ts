/** What Cloudflare's runtime hands over fits what `serve` takes, and the other way round, without Cloudflare's types. */
import { expectTypeOf, test } from "vitest";
import { type CloudflareWorker, type ExecutionContext, type Fetcher, serve } from "../../src/platform/cloudflare.ts";
import type { ScheduledController } from "../../src/platform/cloudflare-options.ts";
import { neon } from "../../src/postgres/neon.ts";

/** As `wrangler types` writes them (workerd 1.20260730.1), shortened. */
declare class RuntimeContext<Props = unknown> {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
  readonly props: Props;
}
interface RuntimeController {
  readonly scheduledTime: number;
  readonly cron: string;
  noRetry(): void;
}
declare class RuntimeFetcher {
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;
  connect(address: string): unknown;
}
interface RuntimeHandler<Env> {
  fetch?: (request: Request, env: Env, context: RuntimeContext) => Response | Promise<Response>;
  scheduled?: (controller: RuntimeController, env: Env, context: RuntimeContext) => void | Promise<void>;
}

test("the runtime's own objects are taken", () => {
  expectTypeOf<RuntimeContext>().toExtend<ExecutionContext>();
  expectTypeOf<RuntimeController>().toExtend<ScheduledController>();
  expectTypeOf<RuntimeFetcher>().toExtend<Fetcher>();
});

test("what serve answers is a Worker's default export, for the env that its options read", () => {
  interface Env {
    readonly DATABASE_URL: string;
    readonly LAYOVER_SECRET: string;
    readonly SELF: RuntimeFetcher;
  }
  const worker = serve<Env>({
    workflows: [],
    database: (env) => neon(env.DATABASE_URL),
    publicUrl: () => "https://example.com",
    secrets: (env) => [env.LAYOVER_SECRET],
    self: (env) => env.SELF,
  });
  expectTypeOf(worker).toEqualTypeOf<CloudflareWorker<Env>>();
  expectTypeOf(worker).toExtend<RuntimeHandler<Env>>();
});
