/** Prints log entries and events as one object each, for hosts whose logs are searched by fields. */
import { LayoverError } from "../../core/errors.ts";
import type { LayoverEvent, LogEntry } from "../../engine/events.ts";
import { keyOf, levelOf, messageOf } from "./event-text.ts";
import { foldEqual } from "./fold-equal.ts";

const print = foldEqual<LayoverEvent>(
  (event, more) => {
    const { error, ...told } = { error: undefined, ...event };
    // The console shows an Error within an object as `{}`, so the object has its texts and facts instead.
    const { stack }: { readonly stack?: unknown } = Object(error);
    const { hint, details }: Partial<LayoverError> = error instanceof LayoverError ? error : {};
    console[levelOf(event) ?? "log"]({ ...told, message: `${messageOf(event)}${more}`, hint, details, stack });
  },
  { keyOf },
);

/**
 * Writes a JSON object to the console for an event that an operator must see. Of equal events within a minute it writes
 * only the first one, and how many there were. `serve` does this by itself if it has no `onEvent`.
 *
 * @example onEvent: (event) => { counters[event.kind] += 1; printEvent(event); }
 */
export function printEvent(event: LayoverEvent): void {
  if (levelOf(event) !== undefined) print(event);
}

/** Writes what a handler has logged as one object to the console. Its fields can be searched. */
export function printLog({ level, message, workflow, runId, fields }: LogEntry): void {
  console[level]({ message, workflow, runId, fields });
}
