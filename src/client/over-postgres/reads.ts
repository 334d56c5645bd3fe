/** Reads runs, pages of runs, histories and endings. */
import { toMilliseconds } from "../../core/duration.ts";
import type { RunKey } from "../../postgres/wire-verbs.ts";
import type { WireRunView } from "../../postgres/wire-views.ts";
import type { RunFilter } from "../filter.ts";
import { type HistoryOptions, type HistoryView, historyPage, historyView } from "../history-view.ts";
import { type ListOptions, listCall, type Page, pageOf } from "../listing.ts";
import type { WaitOptions } from "../run.ts";
import { knownRunId } from "../run-id.ts";
import { type RunEnding, runView } from "../run-view.ts";
import { untilOver } from "../waiting.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

/** `longestInput`: in bytes. A longer input is left out. */
export async function readRun(
  { calls }: ClientContext,
  key: RunKey & { readonly longestInput?: number },
): Promise<WireRunView> {
  return found(await translated(() => calls.getRun(key)), key);
}

export async function readPage({ calls }: ClientContext, options: ListOptions): Promise<Page> {
  const call = listCall(options);
  return pageOf(call, await translated(() => calls.listRuns(call)));
}

/** Counts the runs that fit among the `most` newest that may. Undefined: the database cannot tell, as it is of an earlier release. */
export async function countRuns({ calls }: ClientContext, filter: RunFilter, most: number): Promise<Count | undefined> {
  const call = { ...listCall(filter), limit: most, walk: most };
  const { count, next } = await translated(() => calls.countRuns(call));
  return count === undefined ? undefined : { count, isWhole: next === null && count < most };
}

/** How many runs fit. */
export interface Count {
  readonly count: number;
  /** Whether these are all of them: the database looked at every run that may fit, and found no more. */
  readonly isWhole: boolean;
}

export async function readHistory(
  { calls }: ClientContext,
  runId: string,
  options: HistoryOptions,
): Promise<HistoryView> {
  const key = { runId: knownRunId(runId) };
  const page = historyPage(options);
  return historyView(found(await translated(() => calls.getHistory({ ...key, ...page })), key), page);
}

/** Waits until the run is over, or `wait` is. */
export async function readEnding(
  context: ClientContext,
  runId: string,
  { wait, abortSignal }: WaitOptions,
): Promise<RunEnding> {
  const key = { runId: knownRunId(runId), longestInput: 0 };
  const waitMs = wait === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(wait, { field: "wait" });
  const run = await untilOver(() => readRun(context, key), { waitMs, host: context.host, abortSignal });
  return runView(run, { showsResult: true });
}
