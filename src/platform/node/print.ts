/** What a server of Node prints by itself: log entries to stdout, events to stderr. */
import type { LayoverEvent, LogEntry } from "../../engine/events.ts";
import { logLine } from "./log-line.ts";
import { printingEvents } from "./print-events.ts";

/** Writes a line to stdout for what a handler has logged. */
export function printLog(entry: LogEntry): void {
  console.log(`${new Date().toISOString()} ${entry.level} ${logLine(entry)}`);
}

const print = printingEvents((level, line) => console.error(`${new Date().toISOString()} ${level} ${line}`));

/**
 * Writes a line to stderr for an event that an operator must see. Of equal events within a minute it writes only the
 * first one, and how many there were. A server does this by itself if it has no `onEvent`.
 *
 * @example onEvent: (event) => { counters[event.kind] += 1; printEvent(event); }
 */
export function printEvent(event: LayoverEvent): void {
  print(event);
}
