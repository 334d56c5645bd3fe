/** Lines for people: of what a handler logs, and of errors. Values may be anything, so they look as Node shows them. */
import { inspect } from "node:util";
import { LayoverError } from "../../core/errors.ts";
import { QueryError } from "../../core/ports.ts";
import type { LogEntry } from "../../engine/events.ts";
import { messages } from "../log/event-text.ts";
import { printable, printableLines } from "../log/printable.ts";

/** Makes the line `order 5f0a1c2e  charged { amount: 42 }`: workflow, end of the run's id, message and fields. */
export function logLine({ workflow, runId, message, fields }: LogEntry): string {
  const shown = fields === undefined ? "" : ` ${inspect(fields, { breakLength: Number.POSITIVE_INFINITY })}`;
  return `${printable(workflow)} ${runId.slice(-8)}  ${indented(`${message}${shown}`)}`;
}

/**
 * Makes the lines of an error for people, with its stack and its causes. If the database is away, the message says
 * everything: the place in the code would help nobody.
 */
export function errorLines(error: unknown): string {
  return isOutage(error) ? printable(messages(error).join(": ")) : indented(inspect(error));
}

function isOutage(error: unknown): boolean {
  if (error instanceof QueryError) return error.sqlState === undefined || /^(08|53|57)/.test(error.sqlState);
  return error instanceof LayoverError && (error.code === "database_unavailable" || error.code === "no_answer");
}

/** Indents the text, so that none of its lines looks like an entry of its own. */
export function indented(text: string): string {
  return printableLines(text).replaceAll("\n", "\n    ");
}
