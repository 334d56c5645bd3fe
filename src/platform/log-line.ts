/** A line for people of what a handler logs. Values may be anything, so they are shown as Node shows them. */
import { inspect } from "node:util";
import type { LogEntry } from "../engine/options.ts";

/** `order 5f0a1c2e  charged { amount: 42 }`: the workflow, the end of the run's id, the message and its fields. */
export function logLine({ workflow, runId, message, fields }: LogEntry, { colors = false } = {}): string {
  const shown = fields === undefined ? "" : ` ${inspect(fields, { breakLength: Number.POSITIVE_INFINITY, colors })}`;
  return `${workflow} ${runId.slice(-8)}  ${message}${shown}`;
}
