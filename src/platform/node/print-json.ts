/** What a server of Node prints with `logs: "json"`: one line of JSON for each log entry and event, for who collects lines. */
import type { LayoverEvent, LogEntry } from "../../engine/events.ts";
import { eventObject, jsonLine, logObject } from "../log/entry-object.ts";
import { keyOf, levelOf } from "../log/event-text.ts";
import { foldEqual } from "../log/fold-equal.ts";

/** Writes a line to stdout for what a handler has logged. */
export function printJsonLog(entry: LogEntry): void {
  console.log(lineOf(entry.level, logObject(entry)));
}

const after = (ms: number, act: () => void) => void setTimeout(act, ms).unref();
const print = foldEqual<LayoverEvent>(
  (event, more) => console.error(lineOf(levelOf(event) ?? "info", eventObject(event, more))),
  { keyOf, after },
);

/** Writes a line to stderr for an event that an operator must see. Of equal events within a minute it writes one. */
export function printJsonEvent(event: LayoverEvent): void {
  if (levelOf(event) !== undefined) print(event);
}

function lineOf(level: string, object: object): string {
  return jsonLine({ time: new Date().toISOString(), level, ...object });
}
