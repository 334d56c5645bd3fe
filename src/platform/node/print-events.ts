/** Prints the events that an operator must see, as lines for people, on Node. */
import type { LayoverEvent, Tell } from "../../engine/events.ts";
import { keyOf, levelOf, messageOf } from "../log/event-text.ts";
import { foldEqual } from "../log/fold-equal.ts";
import { printable } from "../log/printable.ts";
import { errorLines, indented } from "./log-line.ts";

type Write = (level: "error" | "warn" | "info", line: string) => void;

/**
 * Makes a function that writes events. Of equal events within a minute it writes the first one, and how many there
 * were. Events that no operator must see are left out.
 */
export function printingEvents(write: Write): Tell {
  const print = (event: LayoverEvent, more: string): void => {
    const level = levelOf(event);
    if (level !== undefined) write(level, `${eventLine(event)}${more}`);
  };
  const after = (ms: number, act: () => void) => void setTimeout(act, ms).unref();
  const printFolded = foldEqual(print, { keyOf, after });
  return (event) => {
    if (levelOf(event) !== undefined) printFolded(event);
  };
}

/** Makes the line `order 5f0a1c2e  the run failed: …`: the workflow, the end of the run's id, and what happened. */
function eventLine(event: LayoverEvent): string {
  if (event.kind === "error") return `while ${event.doing}: ${errorLines(event.error)}`;
  if (!("workflow" in event || "step" in event)) return indented(messageOf(event));
  return `${printable(event.workflow ?? "a run,")} ${event.runId.slice(-8)}  ${indented(messageOf(event))}`;
}
