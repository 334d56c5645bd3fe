/** One JSON object for each event that an operator must see, whose fields Workers Logs can search by. */
import { LayoverError } from "../core/errors.ts";
import type { LayoverEvent } from "../engine/events.ts";
import { keyOf, levelOf, messageOf } from "./event-text.ts";
import { foldEqual } from "./fold-equal.ts";

const print = foldEqual<LayoverEvent>(
  (event, more) => {
    const { error, ...told } = { error: undefined, ...event };
    // Texts and facts: the console shows an Error within an object as `{}`.
    const { stack }: { readonly stack?: unknown } = Object(error);
    const { hint, details }: Partial<LayoverError> = error instanceof LayoverError ? error : {};
    console[levelOf(event) ?? "log"]({ ...told, message: `${messageOf(event)}${more}`, hint, details, stack });
  },
  { keyOf },
);

/**
 * Writes one JSON object to the console for an event that an operator must see; of equal ones the first in a minute, and how
 * many there were. `serve` does this of itself where it has no `onEvent`.
 *
 * @example onEvent: (event) => { counters[event.kind] += 1; printEvent(event); }
 */
export function printEvent(event: LayoverEvent): void {
  if (levelOf(event) !== undefined) print(event);
}
