/** A run as `get` and `list` show it. */
import type { ErrorValue } from "../core/codec/error-value.ts";
import type { RunStatus, WireRunView } from "../postgres/wire-views.ts";
import { readable, readableError, revealed, Unreadable } from "./unreadable.ts";

export type { RunStatus };

export const runStatuses: readonly RunStatus[] = [
  "queued",
  "running",
  "sleeping",
  "waiting",
  "retrying",
  "paused",
  "blocked",
  "cancelling",
  "compensating",
  "completed",
  "failed",
  "cancelled",
];

export interface Refusal {
  /** Id of the deployment. */
  readonly deployment: string;
  readonly at: Date;
  readonly why: string;
}

/** Why a run did not get on. It is tried again a minute, ten minutes, an hour and six hours later; after that it is blocked. */
export interface Setback {
  readonly reason: string;
  /** The path of the step, where it is one of several that are carried out beside each other. */
  readonly path: string | undefined;
  /** When it happened first. */
  readonly since: Date;
  /** When it is tried again. */
  readonly until: Date;
}

/** The undos of a run that ends without a result. */
export interface UndoCounts {
  /** How many there are to carry out. */
  readonly owed: number;
  /** How many have ended: they succeeded, or failed for good. */
  readonly done: number;
  /** How many failed for good. Undefined until the run is over, and if it was terminated. */
  readonly failed: number | undefined;
}

/** A run as it was when it was asked for. */
export interface RunView {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /** The user's own id, if one was given. */
  readonly id: string | undefined;
  readonly status: RunStatus;
  /** What the run said last of itself, by `step.setStatus`. */
  readonly customStatus: unknown;
  readonly tags: Readonly<Record<string, string>>;
  /** Each value may be {@link Unreadable}. A list leaves out those over 16 KiB. */
  readonly input: unknown;
  readonly result: unknown;
  /**
   * Why it failed or was cancelled. If undos failed for good, `data.compensation.failed` lists the first ten, each with its
   * `step` and `error`. All else of the error is as it was.
   */
  readonly error: ErrorValue | undefined;
  /** Undefined: the run owes no undos, or it is not known yet which. */
  readonly undos: UndoCounts | undefined;
  /** Why it cannot go on with this code. The right code unblocks it. */
  readonly blocked: string | undefined;
  /** The deployments that refused the run because their code does not fit its history. Another deployment may take it. */
  readonly refusedBy: readonly Refusal[];
  /** Why the run did not get on, and when it is tried again. */
  readonly setback: Setback | undefined;
  readonly createdAt: Date;
  readonly endedAt: Date | undefined;
  /** When its next turn may be carried out. A run that is ready has the present time here. */
  readonly readyAt: Date | undefined;
  /** When the scheduler looks at it next. */
  readonly dueAt: Date | undefined;
  /** The instant at which the run was paused. Undefined: it is not paused. */
  readonly pausedAt: Date | undefined;
  /** Whether it was paused with its workflow, and is resumed with it. */
  readonly isHeld: boolean;
  /** When the lease of the turn under way ends. If its process has died, another turn begins then. */
  readonly leasedUntil: Date | undefined;
  readonly timeoutAt: Date | undefined;
  /** Names of signals that the run has closed: it takes no more of them. */
  readonly closed: readonly string[];
  /** How many signals of each name have come and were not taken yet. Always empty in lists. */
  readonly untaken: Readonly<Record<string, number>>;
  /** How many records its history has. */
  readonly records: number;
  /** How many turns in a row ended without a result because their process died. Such turns are carried out again. */
  readonly interrupted: number;
  /** Counted from 1: the turn under way, or the next one. */
  readonly turn: number;
  /** How often it was started over. Always 0: no verb does that yet. */
  readonly epoch: number;
}

/** How a run ended, or that it is not over. */
export type RunEnding = Pick<RunView, "runId" | "workflow" | "version" | "status" | "result" | "error">;

/** `showsResult`: whether this is for the one who waits for the result, who gets it though it is sensitive. */
export function runView(run: WireRunView, { showsResult = false } = {}): RunView {
  const leftOut = new Unreadable("it is too long for this answer: get the run by itself");
  const errorLeftOut = { name: "Unreadable", message: leftOut.reason };
  return {
    runId: run.runId,
    workflow: run.workflow,
    version: run.version,
    id: run.id ?? undefined,
    status: run.status,
    customStatus: readable(run.customStatus),
    tags: run.tags,
    input: run.leftOut.includes("input") ? leftOut : readable(run.input),
    result: run.leftOut.includes("result") ? leftOut : resultOf(run, showsResult),
    error: run.leftOut.includes("error") ? errorLeftOut : readableError(run.error),
    undos: undosOf(run.undos),
    blocked: run.blocked ?? undefined,
    refusedBy: (run.refusedBy ?? []).map((refusal) => ({ ...refusal, at: new Date(refusal.at) })),
    setback: setbackOf(run.setback),
    createdAt: new Date(run.createdAt),
    endedAt: dateOf(run.endedAt),
    readyAt: dateOf(run.readyAt),
    dueAt: dateOf(run.dueAt),
    pausedAt: dateOf(run.pausedAt),
    isHeld: run.isHeld ?? false,
    leasedUntil: dateOf(run.leasedUntil),
    timeoutAt: dateOf(run.timeoutAt),
    closed: run.closed ?? [],
    untaken: run.untaken ?? {},
    records: run.records,
    interrupted: run.lost ?? 0,
    turn: run.turn,
    epoch: run.epoch,
  };
}

function resultOf({ result }: WireRunView, showsResult: boolean): unknown {
  return showsResult && result !== null ? revealed(result) : readable(result);
}

function undosOf(undos: WireRunView["undos"]): UndoCounts | undefined {
  return undos == null ? undefined : { ...undos, failed: undos.failed ?? undefined };
}

function setbackOf(setback: WireRunView["setback"]): Setback | undefined {
  if (setback == null) return undefined;
  const { reason, path, since, until } = setback;
  return { reason, path: path ?? undefined, since: new Date(since), until: new Date(until) };
}

export function dateOf(ms: number | null | undefined): Date | undefined {
  return ms === null || ms === undefined ? undefined : new Date(ms);
}

export function isOver(status: RunStatus): status is "completed" | "failed" | "cancelled" {
  return status === "completed" || status === "failed" || status === "cancelled";
}
