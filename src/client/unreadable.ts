/** Values for people to look at. One that cannot be shown must not hide the others. */

import { type ErrorValue, toErrorValue } from "../core/codec/error-value.ts";
import { fromStored, isMarkedSensitive } from "../core/codec/stored-value.ts";

/**
 * Stands in a view for a value that is there and cannot be shown: it is too long for a list, sensitive, or damaged.
 *
 * @example const shown = run.input instanceof Unreadable ? run.input.reason : run.input;
 */
export class Unreadable {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Why a sensitive value is not shown. */
export const hiddenReason = "it is sensitive";

/** The value, or why it cannot be read. Undefined for none. Whoever shows values gets them here, so no sensitive one is shown. */
export function readable(text: string | null): unknown {
  if (text === null) return undefined;
  return isMarkedSensitive(text) ? new Unreadable(hiddenReason) : revealed(text);
}

/** Does the same for the one who is to have the value, even if it is sensitive. */
export function revealed(text: string): unknown {
  try {
    return fromStored(text);
  } catch (error) {
    return new Unreadable(error instanceof Error ? error.message : String(error));
  }
}

/** A stored error as data, whatever was stored. */
export function readableError(text: string | null): ErrorValue | undefined {
  if (text === null) return undefined;
  const value = readable(text);
  return value instanceof Unreadable ? { name: "Unreadable", message: value.reason } : toErrorValue(value);
}
