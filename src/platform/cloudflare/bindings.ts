/**
 * How a Worker asks itself to go on: by a queue and Durable Objects, where `env` has them. Without them it sends
 * requests to itself, and the cron trigger is its only alarm. That works as well; its costs are logged when it is
 * deployed.
 */
import type { Alarm } from "../../core/ports.ts";
import type { InvocationHost } from "../invocation/host.ts";
import { AlarmShards } from "./alarm/alarm-shards.ts";
import { askAlarm } from "./alarm/layover-alarm.ts";
import { read } from "./isolate.ts";
import type { CloudflareOptions } from "./options.ts";
import { QueueDispatch } from "./queue/queue-dispatch.ts";
import { mostOfTick, type RequestsOptions, requestsToSelf } from "./requests-to-self.ts";

type Bound<Env> = Pick<CloudflareOptions<Env>, "queue" | "alarm" | "alarmShards" | "self" | "webhooks">;

export interface BindingsOptions<Env> extends Pick<RequestsOptions, "isolate" | "namespace" | "batch">, Bound<Env> {}

/** What a request brings that begins an invocation. A delivery and a ring bring nothing. */
export interface Incoming {
  /** How many requests to oneself led here. */
  readonly hops?: number | undefined;
  /** Keeps the invocation alive until the promise ends, also beyond its answer (`waitUntil`). */
  readonly keepAlive?: ((sent: Promise<void>) => void) | undefined;
}

export interface Bindings extends Pick<InvocationHost, "dispatcherOf" | "isDispatchedHere" | "mostOfTick"> {
  readonly alarm: Alarm | undefined;
  /** What it costs to do without some of the bindings. */
  readonly costs: readonly string[];
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function bindingsOf<Env>(options: BindingsOptions<Env>, env: Env, { hops, keepAlive }: Incoming): Bindings {
  const queue = read("queue", () => options.queue?.(env));
  const alarm = alarmsOf(options, env)?.alarm;
  const costs = [...costsOf({ hasQueue: queue !== undefined, hasAlarm: alarm !== undefined })];
  if (queue === undefined && options.queue !== undefined) costs.push(...foundNothing(options.webhooks));
  if (queue !== undefined) {
    const dispatcherOf: Bindings["dispatcherOf"] = (terms) => new QueueDispatch({ ...terms, queue, keepAlive });
    return { dispatcherOf, isDispatchedHere: true, alarm, costs };
  }
  const self = read("self", () => options.self?.(env));
  const dispatcherOf: Bindings["dispatcherOf"] = (terms) =>
    requestsToSelf({ ...options, ...terms, self, hops, keepAlive });
  return { dispatcherOf, isDispatchedHere: false, mostOfTick, alarm, costs };
}

/** What keeps the Worker's minutes, if it is bound. */
export function alarmsOf<Env>(
  { alarm, alarmShards = 1, isolate }: Pick<BindingsOptions<Env>, "alarm" | "alarmShards" | "isolate">,
  env: Env,
): AlarmShards | undefined {
  const namespace = read("alarm", () => alarm?.(env));
  if (namespace === undefined) return undefined;
  const { host, armed } = isolate;
  return new AlarmShards({
    ask: (shard, message) => askAlarm({ namespace, host }, shard, message),
    shards: alarmShards,
    armed,
    host,
  });
}

/** Says what follows if the option `queue` is given, and `env` has no such binding: most likely a name was mistyped. */
function foundNothing<Env>(webhooks: BindingsOptions<Env>["webhooks"]): string[] {
  const before = (webhooks ?? []).filter(({ respond }) => respond === "before").map(({ name }) => name);
  return [
    "serve's option `queue` finds nothing in env: compare it with the name of the binding in wrangler.toml",
    ...before.map((name) => `the webhook ${name} answers before, which needs the queue: its requests are answered 500`),
  ];
}

function costsOf({ hasQueue, hasAlarm }: { readonly hasQueue: boolean; readonly hasAlarm: boolean }): string[] {
  return [
    ...(hasQueue ? [] : ["no `queue`: the Worker asks itself by requests, in which a step may be cut off after 30 s"]),
    ...(hasAlarm
      ? []
      : ["no `alarm`: each cron trigger asks the database, which never sleeps (Neon: some $19 a month)"]),
  ];
}
