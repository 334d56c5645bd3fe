/**
 * What a person does to many runs, named by a filter: page by page, at a pace. Nothing is kept of it but the operation of
 * each run. So whoever knows the `callId` can go on, from anywhere and at any time.
 */
import type { Contract } from "../core/contract/contract.ts";
import { type ErrorCode, LayoverError } from "../core/errors.ts";
import type { HostClock } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import type { ManyVerb, OperateRunsAnswer, OperateRunsCall } from "../postgres/wire-operations.ts";
import { filterCall, type RunFilter } from "./filter.ts";
import { cursorOf, mostRows, runIdOf } from "./listing.ts";
import { type OperationOptions, type OperationReceipt, operationTerms } from "./operations.ts";
import { checkLimit } from "./page-limit.ts";
import type { RepairReceipt } from "./repairs.ts";
import type { SignalReceipt } from "./run.ts";
import { isOver, type RunStatus } from "./run-view.ts";
import { checkWhole } from "./whole-number.ts";

/** Which runs. At least one of these. Runs that are over are never meant. */
export type LiveFilter = Omit<RunFilter, "endedFrom" | "endedBefore">;

/** Which runs a restart of many means. Those that are at work cannot be restarted, so it needs a status. */
export interface RestartFilter extends RunFilter {
  readonly status: "completed" | "failed" | "cancelled" | "blocked" | "paused";
}

export interface ManyOptions extends Omit<OperationOptions, "callId"> {
  /**
   * Id of the whole act: the `callId` of a receipt, or a uuid of version 7 made by you. Its time fixes the set: runs that
   * were created later are left out. Called again with it, nothing is done twice. Default: a new one, with the database's time.
   */
  readonly callId?: string | undefined;
  /** How many runs a second, up to 10,000. Default: 100. */
  readonly perSecond?: number | undefined;
  /** Whether to tell only which runs are meant. Default: no. */
  readonly dryRun?: boolean | undefined;
  /** Is told after each page what became of all runs so far. */
  readonly onProgress?: ((receipt: ManyReceipt) => void) | undefined;
  /** Ends it after the page under way, with its reason. Call again with the `callId` to go on. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface RestartRunsOptions extends ManyOptions {
  /** The place of the step or wait from which each run goes on: `charge`, `ship[3]/send#2`. Default: from its start. */
  readonly from?: string | undefined;
}

export interface DeleteRunsOptions extends ManyOptions {
  /**
   * Whether runs that are not over are asked to end: they are `cancelling` then, and the same call with the same `callId`
   * deletes them once they are over. Default: they are refused, as `not_applicable`.
   */
  readonly cancels?: boolean | undefined;
}

/** Runs that were refused. */
export interface Refused {
  /** The code of the error that the same act on one such run throws. */
  readonly code: (typeof refusals)[number];
  readonly runs: number;
  /** The first ten of them. */
  readonly runIds: readonly string[];
}

export type ManyOutcome = OperationReceipt["outcome"] | RepairReceipt["outcome"] | SignalReceipt["outcome"];

/** What became of many runs. If an answer was lost, the runs of that page may be missing in the counts. */
export interface ManyReceipt {
  /** Id of the whole act. Each run has its operation under it. */
  readonly callId: string;
  /** How many runs were meant. */
  readonly runs: number;
  /** How many had each outcome. */
  readonly outcomes: Readonly<Partial<Record<ManyOutcome, number>>>;
  readonly refused: readonly Refused[];
  /** How many are in each status. Empty unless it is a dry run. */
  readonly statuses: Readonly<Partial<Record<RunStatus, number>>>;
  /** The first ten of them. Empty unless it is a dry run. */
  readonly runIds: readonly string[];
}

/** One page of an act on many runs. */
export interface ManyPage extends ManyReceipt {
  /** Cursor of the next page. Missing: this page is the last one. */
  readonly cursor?: string;
}

/** A signal for many runs, and the contract whose schema parses it. */
export interface ManySignal {
  readonly name: string;
  readonly payload: unknown;
  readonly contract: Contract;
}

/** Asks for one page. */
export interface ManyPageOptions
  extends Pick<ManyOptions, "reason" | "by" | "callId" | "dryRun">,
    Pick<RestartRunsOptions, "from">,
    Pick<DeleteRunsOptions, "cancels"> {
  /** The signal to send. It goes with the verb `signal` alone. */
  readonly signal?: ManySignal | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
  /** How many runs, up to 500. Default: 100. */
  readonly limit?: number | undefined;
}

/** Why a run may be refused. */
export const refusals = [
  "not_applicable",
  "too_many_operations",
  "would_repeat",
  "compensated",
  "result_needed",
  "child_failed",
  "at_work",
  "unknown_step",
  "run_over",
  "signal_closed",
  "too_many_signals",
] as const satisfies readonly ErrorCode[];

const mostRuns = 500;
const mostPerSecond = 10_000;
const shownIds = 10;

/** Does it to one page after the other, until the last one. */
export async function operateMany(
  ask: (page: ManyPageOptions) => Promise<ManyPage>,
  { callId, perSecond = 100, onProgress, abortSignal, ...terms }: ManyOptions & Omit<ManyPageOptions, "limit">,
  host: HostClock,
): Promise<ManyReceipt> {
  const pace = checkPace(perSecond);
  const limit = Math.min(pace, mostRuns);
  // Nothing is done before the id of the act is known: a page whose answer is lost is asked for again.
  const act = callId ?? (await ask({ ...terms, dryRun: true, limit: 1 })).callId;
  let receipt: ManyReceipt = { callId: act, runs: 0, outcomes: {}, refused: [], statuses: {}, runIds: [] };
  for (let cursor: string | undefined; ; ) {
    const began = host.monotonic();
    const page = await ask({ ...terms, callId: receipt.callId, cursor, limit });
    receipt = sumOf(receipt, page);
    onProgress?.(receipt);
    cursor = page.cursor;
    if (cursor === undefined) return receipt;
    const restMs = terms.dryRun === true ? 0 : (page.runs / pace) * 1_000 - (host.monotonic() - began);
    abortSignal?.throwIfAborted();
    if (restMs > 0) await pause(host, restMs, abortSignal);
  }
}

function sumOf(one: ManyReceipt, other: ManyReceipt): ManyReceipt {
  const codes = new Set([...one.refused, ...other.refused].map(({ code }) => code));
  return {
    callId: other.callId,
    runs: one.runs + other.runs,
    outcomes: countsOf(one.outcomes, other.outcomes),
    refused: [...codes].map((code) => {
      const same = [...one.refused, ...other.refused].filter((refused) => refused.code === code);
      const runs = same.reduce((sum, refused) => sum + refused.runs, 0);
      return { code, runs, runIds: same.flatMap(({ runIds }) => runIds).slice(0, shownIds) };
    }),
    statuses: countsOf(one.statuses, other.statuses),
    runIds: [...one.runIds, ...other.runIds].slice(0, shownIds),
  };
}

function countsOf(one: Counts, other: Counts): Counts {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}

type Counts = Readonly<Partial<Record<string, number>>>;

/** @throws LayoverError `invalid_request`, `invalid_name`, `invalid_cursor`, `unknown_run` */
export function manyCall(
  verb: ManyVerb,
  filter: RunFilter,
  { callId, cursor, limit = 100, dryRun = false, cancels = false, ...terms }: ManyPageOptions,
): OperateRunsCall {
  return {
    verb,
    filter: checkFilter(verb, filter),
    limit: checkLimit(limit, mostRuns),
    walk: mostRows,
    ...operationTerms(terms),
    ...(callId !== undefined && { callId: checkCallId(callId) }),
    ...(cursor !== undefined && { before: runIdOf(cursor) }),
    ...(dryRun && { dryRun }),
    ...(cancels && { cancels }),
  };
}

export function manyPage(answer: OperateRunsAnswer): ManyPage {
  const { callId, runs, next, outcomes = {}, refused = [], statuses = {}, runIds = [] } = answer;
  return { callId, runs, outcomes, refused, statuses, runIds, ...(next !== null && { cursor: cursorOf(next) }) };
}

function checkFilter(verb: ManyVerb, filter: RunFilter): OperateRunsCall["filter"] {
  const { tags, ...checked } = filterCall(filter);
  const isEmpty = Object.keys(checked).length === 0 && Object.keys(tags ?? {}).length === 0;
  if (isEmpty) {
    throw new LayoverError("invalid_request", "the filter is empty, and would mean all runs", {
      hint: "Say which runs: by workflow, version, status, tags, parent, createdFrom or createdBefore.",
      details: { field: "filter" },
    });
  }
  const { status } = filter;
  if (verb === "retry" || verb === "restart" || verb === "delete") {
    if (status === undefined ? verb === "restart" : !fits[verb](status)) throw wrongStatus(verb);
  } else {
    for (const field of ["endedFrom", "endedBefore"] as const) {
      if (checked[field] !== undefined) throw overAlready(field);
    }
    if (status !== undefined && isOver(status)) throw overAlready("status");
  }
  return { ...checked, ...(tags !== undefined && { tags }) };
}

const fits = {
  retry: (status: RunStatus) => status === "failed",
  delete: isOver,
  restart: (status: RunStatus) => isOver(status) || status === "blocked" || status === "paused",
};

function wrongStatus(verb: keyof typeof fits): LayoverError {
  const which = verb === "retry" ? "failed" : verb === "delete" ? "are over" : "are over, blocked or paused";
  return new LayoverError("invalid_request", `status: only runs that ${which} can be meant`, {
    hint: "Give the status of such runs.",
    details: { field: "status" },
  });
}

function overAlready(field: string): LayoverError {
  return new LayoverError("invalid_request", `${field}: nothing can be done to runs that are over`, {
    hint: "Leave it out: runs that are over are never meant.",
    details: { field },
  });
}

function checkCallId(callId: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(callId)) return callId;
  throw new LayoverError("invalid_request", "the callId is not a uuid of version 7", {
    hint: 'Give the `callId` of a receipt, make one with `v7()` of the package "uuid", or leave it out.',
    details: { field: "callId" },
  });
}

function checkPace(perSecond: number): number {
  return checkWhole("perSecond", perSecond, "Say how many runs a second.", [1, mostPerSecond]);
}
