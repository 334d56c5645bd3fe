/** What Cloudflare's runtime hands over fits what `serve` takes, and the other way round, without Cloudflare's types. */
import { expectTypeOf, test } from "vitest";
import { ignore, stripeSignature, type Variables, type Webhook, webhook } from "../../src/http/webhooks/index.ts";
import {
  type AlarmNamespace,
  type CloudflareWorker,
  type ExecutionContext,
  type Fetcher,
  LayoverAlarm,
  type MessageBatch,
  type QueueProducer,
  serve,
} from "../../src/platform/cloudflare/index.ts";
import type { ScheduledController } from "../../src/platform/cloudflare/options.ts";
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
declare class RuntimeStub extends RuntimeFetcher {
  readonly id: unknown;
  readonly name?: string;
}
declare class RuntimeNamespace {
  getByName(name: string, options?: { locationHint?: string }): RuntimeStub;
}
interface RuntimeQueue<Body = unknown> {
  send(message: Body, options?: { delaySeconds?: number }): Promise<{ metadata: unknown }>;
  sendBatch(
    messages: Iterable<{ body: Body; contentType?: "json" | "v8"; delaySeconds?: number }>,
    options?: { delaySeconds?: number },
  ): Promise<{ metadata: unknown }>;
}
interface RuntimeMessage<Body = unknown> {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: Body;
  readonly attempts: number;
  retry(options?: { delaySeconds?: number }): void;
  ack(): void;
}
interface RuntimeBatch<Body = unknown> {
  readonly messages: readonly RuntimeMessage<Body>[];
  readonly queue: string;
  retryAll(options?: { delaySeconds?: number }): void;
  ackAll(): void;
}
interface RuntimeStorage {
  get<Value = unknown>(keys: string[], options?: object): Promise<Map<string, Value>>;
  put<Value>(entries: Record<string, Value>, options?: object): Promise<void>;
  delete(keys: string[], options?: object): Promise<number>;
  list<Value = unknown>(options?: object): Promise<Map<string, Value>>;
  getAlarm(options?: object): Promise<number | null>;
  setAlarm(scheduledTime: number | Date, options?: object): Promise<void>;
}
interface RuntimeHandler<Env> {
  fetch?: (request: Request, env: Env, context: RuntimeContext) => Response | Promise<Response>;
  scheduled?: (controller: RuntimeController, env: Env, context: RuntimeContext) => void | Promise<void>;
  queue?: (batch: RuntimeBatch, env: Env, context: RuntimeContext) => void | Promise<void>;
}

test("the runtime's own objects are taken", () => {
  expectTypeOf<RuntimeContext>().toExtend<ExecutionContext>();
  expectTypeOf<RuntimeController>().toExtend<ScheduledController>();
  expectTypeOf<RuntimeFetcher>().toExtend<Fetcher>();
  expectTypeOf<RuntimeNamespace>().toExtend<AlarmNamespace>();
  expectTypeOf<RuntimeQueue>().toExtend<QueueProducer>();
  expectTypeOf<RuntimeBatch>().toExtend<MessageBatch>();
  expectTypeOf(LayoverAlarm).toBeConstructibleWith({ storage: {} as RuntimeStorage }, {});
});

test("what serve answers is a Worker's default export, for the env that its options read", () => {
  interface Env {
    readonly DATABASE_URL: string;
    readonly LAYOVER_SECRET: string;
    readonly SELF: RuntimeFetcher;
    readonly QUEUE: RuntimeQueue;
    readonly ALARM: RuntimeNamespace;
    readonly STRIPE_SECRET: string;
  }
  const stripe = webhook({
    name: "stripe",
    verify: stripeSignature((env: { readonly STRIPE_SECRET?: string | undefined }) => env.STRIPE_SECRET),
    on: ({ event }) => ignore(event.type),
  });
  expectTypeOf(stripe).toExtend<Webhook<Env>>();
  expectTypeOf(stripe).toExtend<Webhook<Variables>>();
  // A Worker's env also holds what is no text.
  expectTypeOf<Webhook<Variables>>().not.toExtend<Webhook<Env>>();
  const worker = serve<Env>({
    workflows: [],
    database: (env) => neon(env.DATABASE_URL),
    publicUrl: () => "https://example.com",
    secrets: (env) => [env.LAYOVER_SECRET],
    self: (env) => env.SELF,
    queue: (env) => env.QUEUE,
    alarm: (env) => env.ALARM,
    webhooks: [stripe],
  });
  expectTypeOf(worker).toEqualTypeOf<CloudflareWorker<Env>>();
  expectTypeOf(worker).toExtend<RuntimeHandler<Env>>();
});
