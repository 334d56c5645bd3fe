/**
 * By what a Worker asks itself to go on: a queue and Durable Objects where `env` has them; requests to itself and the cron
 * trigger alone where it has not, which works as well, and costs what is logged when it is deployed.
 */
import { AlarmShards } from "./alarm/alarm-shards.ts";
import { askAlarm } from "./alarm/layover-alarm.ts";
import { read } from "./isolate.ts";
import type { CloudflareOptions } from "./options.ts";
import { type Here, QueueDispatch } from "./queue/queue-dispatch.ts";
import { type RequestsOptions, requestsToSelf } from "./requests-to-self.ts";
import type { SelfDispatch } from "./self-dispatch.ts";

/** How what is ready gets to whoever carries it out. */
export type Dispatcher = Pick<QueueDispatch | SelfDispatch, "dispatch" | "together" | "isWhole" | "settled">;

export interface Bindings {
  readonly dispatcher: Dispatcher;
  /** Whether a queue takes whatever it gets. */
  readonly hasQueue: boolean;
  /** Undefined: the cron trigger is the only alarm. */
  readonly alarms: AlarmShards | undefined;
}

type Bound<Env> = Pick<CloudflareOptions<Env>, "queue" | "alarm" | "alarmShards" | "self">;

export interface BindingsOptions<Env> extends Omit<RequestsOptions, "self">, Bound<Env> {
  readonly here?: Here | undefined;
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function bindingsOf<Env>(options: BindingsOptions<Env>, env: Env): Bindings {
  const { here, hold, onRefused, report: onError } = options;
  const queue = read("queue", () => options.queue?.(env));
  const dispatcher = queue
    ? new QueueDispatch({ queue, here, hold, onRefused, onError })
    : requestsToSelf({ ...options, self: read("self", () => options.self?.(env)) });
  return { dispatcher, hasQueue: queue !== undefined, alarms: alarmsOf(options, env) };
}

/** What keeps the Worker's minutes, if it is bound. */
export function alarmsOf<Env>(
  { alarm, alarmShards = 1, isolate }: Pick<BindingsOptions<Env>, "alarm" | "alarmShards" | "isolate">,
  env: Env,
): AlarmShards | undefined {
  const namespace = read("alarm", () => alarm?.(env));
  if (namespace === undefined) return undefined;
  return new AlarmShards({
    ask: (shard, message) => askAlarm(namespace, shard, message),
    shards: alarmShards,
    armed: isolate.armed,
  });
}

/** What it costs to do without some of them. */
export function costsOf({ hasQueue, alarms }: Bindings): readonly string[] {
  return [
    ...(hasQueue ? [] : ["no `queue`: the Worker asks itself by requests, in which a step may be cut off after 30 s"]),
    ...(alarms ? [] : ["no `alarm`: each cron trigger asks the database, which never sleeps (Neon: some $19 a month)"]),
  ];
}
