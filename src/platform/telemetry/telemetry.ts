/** Makes what `serve` takes as its option `telemetry`. */
import { context, trace } from "@opentelemetry/api";
import { LayoverError } from "../../core/errors.ts";
import type { Telemetry } from "../../engine/telemetry.ts";
import { Metrics } from "./metrics.ts";
import { Spans } from "./spans.ts";
import { traceparentOf } from "./trace-of-run.ts";

export interface TelemetryOptions {
  /**
   * Sends what was gathered: `() => provider.forceFlush()`. It is called before an invocation ends, if something was
   * gathered since, and on Node when the server is closed. An invocation waits two seconds for it at most. If it takes
   * longer or rejects, that is a line of the log, and nothing else. Default: nothing is called.
   */
  readonly flush?: (() => Promise<unknown>) | undefined;
  /**
   * Which runs are traced, by what their turns tell your sampler of their parent. A number from 0 to 1: that part of all
   * runs, whether their callers are traced or not. "parent": those whose callers are, and each that was started without a
   * trace context. A sampler that asks for the parent obeys. Default: 1.
   */
  readonly sample?: number | "parent" | undefined;
}

/**
 * Makes the traces and metrics of a deployment. They go to the providers that are registered with `@opentelemetry/api` when
 * something is told for the first time.
 *
 * @throws LayoverError `invalid_request` for `sample`
 * @example serve({ workflows, database, secrets, telemetry: telemetry({ flush: () => provider.forceFlush() }) });
 */
export function telemetry({ flush, sample = 1 }: TelemetryOptions = {}): Telemetry {
  if (sample !== "parent" && !(sample >= 0 && sample <= 1)) {
    throw new LayoverError("invalid_request", `sample: ${String(sample)} is no part of all runs`, {
      hint: 'Give a number from 0 to 1, or "parent".',
      details: { field: "sample" },
    });
  }
  let hasMore = false;
  const gathers = () => {
    hasMore = true;
  };
  const metrics = new Metrics(gathers);
  const spans = new Spans({ sample, metrics, gathers });
  return {
    beginTurn: (turn) => spans.beginTurn(turn),
    onEvent: (event) => metrics.count(event),
    onTick: (ticked) => metrics.countTick(ticked),
    traceparent: () => {
      const active = trace.getSpanContext(context.active());
      return active === undefined ? undefined : traceparentOf(active);
    },
    flush: () => {
      if (flush === undefined || !hasMore) return undefined;
      hasMore = false;
      return flush();
    },
  };
}
