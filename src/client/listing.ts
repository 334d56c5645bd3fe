/**
 * A page of runs at a time. The cursor names the last run of the page before, as a text that means nothing to anyone
 * else; its first character is its version.
 */
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import type { ListCall, WireRunView } from "../postgres/wire-verbs.ts";
import { checkLimit } from "./page-limit.ts";
import { type RunStatus, type RunView, runView } from "./run-view.ts";
import { checkTags } from "./starting.ts";

/** Which runs; all of what is given must hold. */
export interface ListOptions {
  readonly workflow?: string | undefined;
  readonly status?: RunStatus | undefined;
  /** All of these. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Up to 200. Default: 50. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of runs. */
export interface Page {
  /** Newest first. */
  readonly runs: readonly RunView[];
  /** Of the next page, if there is one. */
  readonly cursor?: string;
}

const mostRuns = 200;

/** Asks for one run more than the page holds, to know whether there is a next one. @throws LayoverError */
export function listCall({ workflow, status, tags, limit = 50, cursor }: ListOptions): ListCall {
  return {
    limit: checkLimit(limit, mostRuns) + 1,
    ...(workflow !== undefined && { workflow: checkName(workflow, "workflow") }),
    ...(status !== undefined && { status }),
    ...(tags !== undefined && { tags: checkTags(tags) }),
    ...(cursor !== undefined && { before: runIdOf(cursor) }),
  };
}

export function pageOf(call: ListCall, runs: readonly WireRunView[]): Page {
  const page = runs.slice(0, call.limit - 1);
  const last = page.at(-1);
  return {
    runs: page.map(runView),
    ...(runs.length === call.limit && last !== undefined && { cursor: `1${last.runId.replaceAll("-", "")}` }),
  };
}

function runIdOf(cursor: string): string {
  const parts = /^1([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(cursor);
  if (parts !== null) return parts.slice(1).join("-");
  throw new LayoverError("invalid_cursor", "the cursor is not one that a listing answered", {
    hint: "Give the `cursor` of the page before as it is, or none for the first page.",
    details: { field: "cursor" },
  });
}
