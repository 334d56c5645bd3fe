/** Prints log entries and events as one object each, for hosts whose logs are searched by fields. */
import type { LayoverEvent, LogEntry } from "../../engine/events.ts";
import { eventObject, logObject } from "./entry-object.ts";
import { keyOf, levelOf } from "./event-text.ts";
import { foldEqual } from "./fold-equal.ts";

const print = foldEqual<LayoverEvent>((event, more) => console[levelOf(event) ?? "log"](eventObject(event, more)), {
  keyOf,
});

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
export function printLog(entry: LogEntry): void {
  console[entry.level](logObject(entry));
}
