/**
 * A page of runs at a time. The cursor names the last run of the page before, as a text that means nothing to anyone
 * else; its first character is its version.
 */
import { LayoverError } from "../core/errors.ts";
import type { ListAnswer, ListCall } from "../postgres/wire-views.ts";
import { filterCall, type RunFilter } from "./filter.ts";
import { checkLimit } from "./page-limit.ts";
import { type RunView, runView } from "./run-view.ts";

/** Which page of which runs. */
export interface ListOptions extends RunFilter {
  /** Up to 200. Default: 50. */
  readonly limit?: number | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of runs. */
export interface Page {
  /** Newest first. May be fewer than `limit`, or none, though more pages follow: look at `cursor`. */
  readonly runs: readonly RunView[];
  /** Cursor of the next page. Missing: this page is the last one. */
  readonly cursor?: string;
}

const mostRuns = 200;

/**
 * How many rows the database looks at for one page. So a filter that matches few runs takes some 0.1 s at most. The
 * page is then short and has a cursor.
 */
export const mostRows = 2_000;

/** Asks for one run more than the page holds, to know whether there is a next one. @throws LayoverError */
export function listCall({ limit = 50, cursor, ...filter }: ListOptions): ListCall {
  return {
    limit: checkLimit(limit, mostRuns) + 1,
    walk: mostRows,
    ...filterCall(filter),
    ...(cursor !== undefined && { before: runIdOf(cursor) }),
  };
}

export function pageOf(call: ListCall, { runs, next }: ListAnswer): Page {
  const page = runs.slice(0, call.limit - 1);
  const last = runs.length === call.limit ? page.at(-1)?.runId : next;
  return { runs: page.map((run) => runView(run)), ...(last != null && { cursor: cursorOf(last) }) };
}

export function cursorOf(runId: string): string {
  return `1${runId.replaceAll("-", "")}`;
}

/** @throws LayoverError `invalid_cursor` */
export function runIdOf(cursor: string): string {
  const parts = /^1([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(cursor);
  if (parts !== null) return parts.slice(1).join("-");
  throw new LayoverError("invalid_cursor", "the cursor is not one that a page answered", {
    hint: "Give the `cursor` of the page before as it is, or none for the first page.",
    details: { field: "cursor" },
  });
}
