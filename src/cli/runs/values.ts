/** Values, errors and statuses of runs, on one line. */
import { styleText } from "node:util";
import type { RunStatus, UndoCounts } from "../../client/run-view.ts";
import { Unreadable } from "../../client/unreadable.ts";
import type { ErrorValue } from "../../core/codec/error-value.ts";
import { defaultLimits } from "../../core/limits.ts";
import { toJson } from "../../http/plain-json.ts";
import { plain } from "../screen.ts";

/**
 * "" for undefined, which a step that answers nothing leaves. Of a value's megabyte only what `width` may show is
 * escaped and measured.
 */
export function describeValue(value: unknown, width: number): string {
  if (value === undefined) return "";
  if (value instanceof Unreadable) return `(cannot be shown: ${value.reason})`;
  return plain((JSON.stringify(toJson(value)) ?? "").slice(0, 2 * width));
}

/** What a run says of itself. A text stands without quotes. */
export function describeSaying(status: unknown): string {
  return typeof status === "string" ? plain(status) : describeValue(status, defaultLimits.statusBytes);
}

/** "StepError: charge failed, because PaymentError: card declined" */
export function describeError(error: ErrorValue | undefined): string {
  if (error === undefined) return "no reason was stored";
  const { name, message, cause } = error;
  const said = plain(message === "" ? name : `${name}: ${message}`);
  return cause === undefined || said.includes(plain(cause.message)) ? said : `${said}, because ${describeError(cause)}`;
}

/** "2 of 3 undos have ended", "2 of 3 undos succeeded, and 1 failed for good" */
export function describeUndos({ owed, done, failed }: UndoCounts): string {
  if (failed === undefined) return `${done} of ${owed} undos have ended`;
  return `${done - failed} of ${owed} undos succeeded${failed === 0 ? "" : `, and ${failed} failed for good`}`;
}

const colours = {
  completed: "green",
  failed: "red",
  cancelled: "gray",
  cancelling: "yellow",
  compensating: "yellow",
  blocked: "red",
  paused: "yellow",
  retrying: "yellow",
  running: "cyan",
  queued: "cyan",
  waiting: "blue",
  sleeping: "blue",
} as const;

export function coloured(status: RunStatus, text: string = status): string {
  return status in colours ? styleText(colours[status], text) : plain(text);
}
