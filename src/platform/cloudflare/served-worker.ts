/** What `serve` has read of its options when the Worker's module is run. That is before it is deployed. */
import { toMilliseconds } from "../../core/duration.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkNamespace } from "../../core/names.ts";
import { sweepMs as defaultSweepMs } from "../../core/waking.ts";
import { type Report, reportTo, type Tell } from "../../engine/events.ts";
import { checkLeaseMs } from "../../engine/options.ts";
import { Registry } from "../../engine/registry.ts";
import { prefixOf } from "../../http/prefix.ts";
import { checkWebhooks } from "../../http/webhooks/mount.ts";
import { beginInvocation, type HostedInvocation, type InvocationOptions } from "../invocation/begin-invocation.ts";
import type { InvocationHost } from "../invocation/host.ts";
import { printEvent, printLog } from "../log/print-objects.ts";
import { printingHooks } from "../log/printing-hooks.ts";
import type { AlarmShards } from "./alarm/alarm-shards.ts";
import { alarmsOf, type Incoming } from "./bindings.ts";
import { type Isolate, newIsolate } from "./isolate.ts";
import type { CloudflareOptions } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import { hostOf } from "./worker-host.ts";

/** The time of an alarm, a cron trigger or a delivery, in which it begins steps. All of them are cut after 15 minutes. */
export const afterRingMs = 13 * 60_000;

export interface ServedWorker<Env> extends Pick<Runtime, "host" | "script"> {
  readonly options: CloudflareOptions<Env>;
  readonly namespace: string;
  readonly prefix: string;
  /** Undefined: no sweeps. */
  readonly sweepMs: number | undefined;
  /** The versions of the workflows, each as one text. */
  readonly carries: readonly string[];
  readonly tell: Tell;
  readonly report: Report;
  readonly isolateOf: (env: Env) => Isolate;
  readonly alarmsOf: (env: Env) => AlarmShards | undefined;
  /**
   * Begins an invocation.
   *
   * @throws LayoverError `internal`, naming the option that finds nothing to use in `env`
   */
  readonly begin: (
    env: Env,
    options: InvocationOptions & Incoming,
  ) => HostedInvocation & Pick<InvocationHost, "environment">;
}

/**
 * @throws LayoverError `duplicate_workflow`, `invalid_name` for the namespace, `invalid_duration` for `sweep` and
 *   `leaseMs`, `invalid_request` for `alarmShards`
 */
export function servedWorker<Env extends object>(options: CloudflareOptions<Env>, runtime: Runtime): ServedWorker<Env> {
  const hooks = printingHooks(options, { printLog, printEvent });
  const { onEvent: tell } = hooks;
  const report = reportTo(tell);
  const registry = new Registry(options.workflows, options.schedules);
  checkWebhooks(options.webhooks, {
    noQueue: options.queue === undefined ? "this Worker's `serve` has no option `queue`" : undefined,
  });
  const namespace = checkNamespace(options.namespace ?? "default");
  const { sweep = defaultSweepMs } = options;
  const sweepMs = sweep === false ? undefined : toMilliseconds(sweep, { field: "sweep" });
  checkShards(options.alarmShards ?? 1);
  checkLeaseMs(options.leaseMs);
  const isolates = new WeakMap<Env, Isolate>();
  const isolateOf = (env: Env): Isolate => {
    const isolate = isolates.get(env) ?? newIsolate(options, env, runtime);
    isolates.set(env, isolate);
    return isolate;
  };
  const given = { ...options, ...hooks, registry, namespace, report };
  return {
    ...runtime,
    options,
    namespace,
    prefix: prefixOf(options.prefix),
    sweepMs,
    carries: Object.entries(registry.versions).flatMap(([name, numbers]) =>
      numbers.map((number) => `${name}@${number}`),
    ),
    tell,
    report,
    isolateOf,
    alarmsOf: (env) => alarmsOf({ ...options, isolate: isolateOf(env) }, env),
    begin: (env, { hops, keepAlive, ...invocation }) => {
      const host = hostOf({ ...given, isolate: isolateOf(env) }, env, { hops, keepAlive });
      return { ...beginInvocation(host, invocation), environment: host.environment };
    },
  };
}

function checkShards(alarmShards: number): void {
  if (Number.isInteger(alarmShards) && alarmShards > 0) return;
  throw new LayoverError("invalid_request", `alarmShards: ${alarmShards} is no number of Durable Objects`, {
    hint: "Give a whole number from 1 on.",
    details: { field: "alarmShards" },
  });
}
