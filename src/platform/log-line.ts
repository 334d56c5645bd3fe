/** A line for people of what a handler logs. Values may be anything, so they are shown as Node shows them. */
import { inspect } from "node:util";
import { LayoverError } from "../core/errors.ts";
import { QueryError } from "../core/ports.ts";
import type { LogEntry } from "../engine/options.ts";
import { printable, printableLines } from "./printable.ts";

/** `order 5f0a1c2e  charged { amount: 42 }`: the workflow, the end of the run's id, the message and its fields. */
export function logLine({ workflow, runId, message, fields }: LogEntry): string {
  const shown = fields === undefined ? "" : ` ${inspect(fields, { breakLength: Number.POSITIVE_INFINITY })}`;
  return `${printable(workflow)} ${runId.slice(-8)}  ${indented(`${message}${shown}`)}`;
}

/**
 * An error for people, with its stack and its causes. A database that is away says all by its message: where in the code
 * that was met helps nobody.
 */
export function errorLines(error: unknown): string {
  return isOutage(error) ? printable(messages(error).join(": ")) : indented(inspect(error));
}

type Print = (error: unknown, doing: string, more: string) => void;

const foldMs = 60_000;

/**
 * Prints of equal errors the first one in a minute. How many it has left out is told with the next one that it prints.
 * `more`: that, as text.
 */
export function foldEqual(print: Print, now: () => number = Date.now): (error: unknown, doing: string) => void {
  const known = new Map<string, { readonly since: number; folded: number }>();
  return (error, doing) => {
    const at = now();
    const key = messages(error).join(": ");
    const last = known.get(key);
    if (last !== undefined && at < last.since + foldMs) {
      last.folded += 1;
      return;
    }
    for (const [other, { since }] of known) if (at >= since + foldMs) known.delete(other);
    known.set(key, { since: at, folded: 0 });
    print(error, doing, last === undefined || last.folded === 0 ? "" : ` (and ${last.folded} more like it before)`);
  };
}

function isOutage(error: unknown): boolean {
  if (error instanceof QueryError) return error.sqlState === undefined || /^(08|53|57)/.test(error.sqlState);
  return error instanceof LayoverError && (error.code === "database_unavailable" || error.code === "no_answer");
}

/** Of the error and its causes. */
function messages(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const { message, cause } = error;
  const causes = cause === undefined ? [] : messages(cause);
  return causes[0] === message ? causes : [message, ...causes];
}

/** So that no line of it passes for an entry of its own. */
function indented(text: string): string {
  return printableLines(text).replaceAll("\n", "\n    ");
}
