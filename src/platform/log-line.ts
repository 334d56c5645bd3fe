/** A line for people of what a handler logs. Values may be anything, so they are shown as Node shows them. */
import { inspect } from "node:util";
import type { LogEntry } from "../engine/options.ts";
import { printable, printableLines } from "./printable.ts";

/** `order 5f0a1c2e  charged { amount: 42 }`: the workflow, the end of the run's id, the message and its fields. */
export function logLine({ workflow, runId, message, fields }: LogEntry): string {
  const shown = fields === undefined ? "" : ` ${inspect(fields, { breakLength: Number.POSITIVE_INFINITY })}`;
  return `${printable(workflow)} ${runId.slice(-8)}  ${indented(`${message}${shown}`)}`;
}

/** An error for people, with its stack and its causes. */
export function errorLines(error: unknown): string {
  return indented(inspect(error));
}

/** So that no line of it passes for an entry of its own. */
function indented(text: string): string {
  return printableLines(text).replaceAll("\n", "\n    ");
}
