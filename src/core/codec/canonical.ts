/** Stored texts whose values are the same, though the keys of their objects came in another order. */
import { unmarked } from "./stored-value.ts";
import { isRecord } from "./tag-checks.ts";

/** Makes the text of the same value with the keys of each object in order, and without the mark of a sensitive value. */
export function canonical(stored: string): string {
  const text = unmarked(stored);
  return text.slice(0, 1) + JSON.stringify(JSON.parse(text.slice(1)), inOrder);
}

function inOrder(_: string, value: unknown): unknown {
  if (!isRecord(value) || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
