/** A Worker as the host of its invocations: a request, a delivery, or a ring of an alarm or the cron trigger. */

import { defaultEnvironment } from "../../core/names.ts";
import type { Report, Tell } from "../../engine/events.ts";
import { defaults } from "../../engine/options.ts";
import type { Registry } from "../../engine/registry.ts";
import type { InvocationHost } from "../invocation/host.ts";
import { bindingsOf, type Incoming } from "./bindings.ts";
import { type Isolate, read } from "./isolate.ts";
import type { CloudflareOptions } from "./options.ts";

/**
 * The steps of all turns of a request or a delivery together. So their statements are few beside the requests that may
 * follow. Ten steps in a row, with a database that answers after 8 ms: 133 ms and 11 statements; one a request, 196 ms
 * and 20. And twelve requests reach ten times as far. A delivery carries out so many steps more (see queue-dispatch.ts).
 */
const carrying = { maxSteps: 10, budgetMs: 5_000 };

/** The time of an invocation for its steps: it is cut after 15 minutes, and needs the last seconds to record results. */
const stepsMs = 14 * 60_000 + 50_000;

export interface HostOptions<Env> extends CloudflareOptions<Env> {
  readonly isolate: Isolate;
  readonly registry: Registry;
  readonly namespace: string;
  readonly onEvent: Tell;
  readonly report: Report;
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function hostOf<Env>(options: HostOptions<Env>, env: Env, incoming: Incoming): InvocationHost {
  const { registry, leaseMs, keepMs, keepFailedMs, telemetry, onEvent, isolate } = options;
  const settings = { registry, leaseMs, keepMs, keepFailedMs, telemetry, onEvent };
  const { costs, ...bindings } = bindingsOf(options, env, incoming);
  const invocation = { ...carrying, ...options.invocation };
  // A delivery may spend its budget twice: the second time on what follows from its turns, or on its last group of suspects.
  const longestStepMs = Math.max(stepsMs - 2 * invocation.budgetMs, defaults.stepTimeoutMs);
  return {
    ...options,
    ...isolate,
    ...bindings,
    engine: { ...settings, longestStepMs, timeOfDay: () => isolate.host.now(), ...isolate.engine },
    environment: read("environment", () => options.environment?.(env)) ?? defaultEnvironment,
    database: () => read("database", () => options.database(env)),
    invocation,
    onFirstTick: () => {
      if (!isolate.isWarned) for (const message of costs) onEvent({ kind: "binding_missing", message });
      isolate.isWarned = true;
    },
  };
}
