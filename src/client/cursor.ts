/** Where a page of runs ended, as a text that means nothing to anyone else. Its first character is its version. */
import { LayoverError } from "../core/errors.ts";

export function cursorAfter(runId: string): string {
  return `1${runId.replaceAll("-", "")}`;
}

/** @throws LayoverError `invalid_cursor` */
export function runIdOf(cursor: string): string {
  const parts = /^1([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(cursor);
  if (parts !== null) return parts.slice(1).join("-");
  throw new LayoverError("invalid_cursor", "the cursor is not one that a listing answered", {
    hint: "Give the `cursor` of the page before as it is, or none for the first page.",
    details: { field: "cursor" },
  });
}
