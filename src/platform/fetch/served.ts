/** What `serve` has read of its options when its module is loaded, and what begins each invocation. */
import { toMilliseconds } from "../../core/duration.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkNamespace } from "../../core/names.ts";
import { type Report, reportTo, type Tell } from "../../engine/events.ts";
import { checkLeaseMs, defaults } from "../../engine/options.ts";
import { Registry } from "../../engine/registry.ts";
import { prefixOf } from "../../http/prefix.ts";
import { checkWebhooks } from "../../http/webhooks/mount.ts";
import { beginInvocation, type HostedInvocation } from "../invocation/begin-invocation.ts";
import { printEvent, printLog } from "../log/print-objects.ts";
import { printingHooks } from "../log/printing-hooks.ts";
import { HereDispatch } from "./here-dispatch.ts";
import type { FetchOptions } from "./options.ts";
import { Process } from "./process.ts";
import type { Runtime } from "./runtime.ts";

export interface Served {
  readonly options: FetchOptions;
  readonly namespace: string;
  readonly prefix: string;
  readonly tell: Tell;
  readonly report: Report;
  readonly process: Process;
  readonly begin: () => HostedInvocation;
}

/** The most that one tick dispatches: what a request carries out in some seconds. The alarm rings for the rest at once. */
const mostOfTick = { turns: 500, groups: 10 };

/** The time that is kept for the steps that were begun last. */
const reserveMs = 65_000;

/** The time for what comes before and after them. */
const marginMs = 5_000;

/** The time for recording the result of a step. */
const recordMs = 1_000;

/**
 * @throws LayoverError `duplicate_workflow`, `invalid_name` for the namespace, `invalid_duration` for `limit` and `leaseMs`,
 *   `invalid_request` for `batch` and `concurrency`
 */
export function servedBy(options: FetchOptions, runtime: Runtime): Served {
  const hooks = printingHooks(options, { printLog, printEvent });
  const { onEvent: tell } = hooks;
  const report = reportTo(tell);
  const registry = new Registry(options.workflows, options.schedules);
  checkWebhooks(options.webhooks, { noQueue: "this host has no queue" });
  const namespace = checkNamespace(options.namespace ?? "default");
  checkLeaseMs(options.leaseMs);
  const limitMs = toMilliseconds(options.limit ?? "60 seconds", { field: "limit" });
  const budgetMs = Math.max(limitMs / 2, limitMs - reserveMs);
  const batch = checkCount("batch", options.batch ?? 10);
  const concurrency = checkCount("concurrency", options.concurrency ?? 4);
  const process = new Process(options, runtime);
  const { leaseMs, keepMs, keepFailedMs, telemetry } = options;
  const longestStepMs = Math.max(limitMs - marginMs, defaults.stepTimeoutMs);
  return {
    options,
    namespace,
    prefix: prefixOf(options.prefix),
    tell,
    report,
    process,
    begin: () => {
      const { alarm, database, ...loaded } = process.load();
      const { host } = runtime;
      const begunAt = host.now();
      const until = begunAt + budgetMs;
      const hasTimeFor = timeFor({ longestStepMs, leftMs: () => begunAt + limitMs - recordMs - host.now() });
      return beginInvocation(
        {
          ...loaded,
          engine: {
            ...runtime.engine,
            registry,
            timeOfDay: () => host.now(),
            leaseMs,
            keepMs,
            keepFailedMs,
            telemetry,
            longestStepMs,
            hasTimeFor,
            onEvent: tell,
            warmRuns: 0,
          },
          namespace,
          host,
          send: runtime.send,
          clock: process.clock,
          guess: () => process.guess(),
          database: () => database,
          invocation: { maxSteps: 1, budgetMs },
          alarm: alarm?.remote.alarm,
          isDispatchedHere: true,
          mostOfTick,
          dispatcherOf: (terms) => new HereDispatch({ ...terms, batch, concurrency }),
          report,
        },
        { until: () => until },
      );
    },
  };
}

/**
 * Decides which steps begin in an invocation: the first, and those whose timeout ends before the host ends the invocation. A
 * step with the timeout that is the default, or a shorter one, begins in any case. Most of them take far less. So does one
 * that fails at once, since no invocation has so much time.
 */
function timeFor({ longestStepMs, leftMs }: { readonly longestStepMs: number; readonly leftMs: () => number }) {
  let isFirst = true;
  return (timeoutMs: number): boolean => {
    const isLong = timeoutMs > defaults.stepTimeoutMs && timeoutMs <= longestStepMs;
    const hasTime = isFirst || !isLong || timeoutMs <= leftMs();
    isFirst = false;
    return hasTime;
  };
}

function checkCount(field: "batch" | "concurrency", count: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= 1_000) return count;
  throw new LayoverError("invalid_request", `${field}: ${count} is no such number`, {
    hint: "Give a whole number from 1 to 1,000.",
    details: { field },
  });
}
