/** Makes one object of a log entry or an event, for logs that are searched by fields. */
import { LayoverError } from "../../core/errors.ts";
import type { LayoverEvent, LogEntry, TraceRef } from "../../engine/events.ts";
import { messageOf } from "./event-text.ts";

/** `trace_id` and `span_id` are the names by which OpenTelemetry finds the trace of a line. */
export function logObject({ message, workflow, runId, step, attempt, trace, fields }: LogEntry) {
  return { message, workflow, runId, step, attempt, ...named(trace), fields };
}

/** `more`: how many events like it there were. */
export function eventObject(event: LayoverEvent, more: string) {
  const { error, trace, ...told } = { error: undefined, trace: undefined, ...event };
  // The console and JSON show an Error within an object as `{}`, so the object has its texts and facts instead.
  const { stack }: { readonly stack?: unknown } = Object(error);
  const { hint, details }: Partial<LayoverError> = error instanceof LayoverError ? error : {};
  return { ...told, ...named(trace), message: `${messageOf(event)}${more}`, hint, details, stack };
}

function named(trace: TraceRef | undefined) {
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}

/** Makes one line of JSON. What JSON cannot hold is a text: a bigint, a cycle, what throws when it is read. */
export function jsonLine(object: object): string {
  const above: unknown[] = [];
  const shown = function (this: unknown, _: string, value: unknown): unknown {
    if (typeof value === "bigint") return String(value);
    if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
    if (typeof value !== "object" || value === null) return value;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(value)) return "[a cycle]";
    above.push(value);
    return value;
  };
  try {
    return JSON.stringify(object, shown);
  } catch (error) {
    return JSON.stringify({ message: "a line of the log could not be written as JSON", cause: String(error) });
  }
}
