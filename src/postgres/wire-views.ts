/** What people see of runs: the lists, the filter of a list, a run and its history. As in wire.ts. */
import type { PendingKind, Place, RecordKind } from "./wire.ts";

export interface WireRunView {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly id: string | null;
  readonly status: RunStatus;
  readonly customStatus: string | null;
  readonly epoch: number;
  /** How many turns in a row were lost. Functions of an earlier release leave it out. */
  readonly lost?: number;
  readonly turn: number;
  readonly input: string | null;
  readonly result: string | null;
  readonly error: string | null;
  /** Values that are there, and too long for this answer. */
  readonly leftOut: readonly ("input" | "result" | "error")[];
  readonly blocked: string | null;
  /** The deployments whose code does not fit the run's history. Functions of an earlier release leave it out. */
  readonly refusedBy?: readonly WireRefusal[] | null;
  readonly setback?: WireSetback | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly readyAt: number | null;
  readonly dueAt: number | null;
  /** The instant at which the run was paused. Functions of an earlier release leave it out. */
  readonly pausedAt?: number | null;
  /** Whether it was paused with its workflow. Functions of an earlier release leave it out. */
  readonly isHeld?: boolean;
  readonly leasedUntil: number | null;
  readonly timeoutAt: number | null;
  readonly records: number;
  /** The undos of a run whose end stands in its history. Functions of an earlier release leave it out. */
  readonly undos?: WireUndos | null;
  /** Names of signals that the run has closed. */
  readonly closed: readonly string[] | null;
  /** How many signals of each name the run has not taken. Null in lists. */
  readonly untaken: Readonly<Record<string, number>> | null;
  readonly tags: Readonly<Record<string, string>>;
}
export interface WireUndos {
  readonly owed: number;
  /** How many have ended, in whatever way. */
  readonly done: number;
  /** How many failed for good. Null until the run's last finish tells it. */
  readonly failed: number | null;
}
export interface WireRefusal {
  /** Id of the deployment. */
  readonly deployment: string;
  readonly at: number;
  readonly why: string;
}
/** Why a run, or a branch of it, did not get on. */
export interface WireSetback {
  readonly reason: string;
  /** The path of the branch. Null: it is the run itself. */
  readonly path: string | null;
  /** The number of the next try, from 1. */
  readonly tries: number;
  readonly since: number;
  readonly until: number;
}
/** What people see, derived from the rows (run_status.sql). The last three are for ever. */
export type RunStatus =
  /** Its next turn may begin, and has not. */
  | "queued"
  /** Somebody carries out a turn of it. */
  | "running"
  /** It waits for an instant. */
  | "sleeping"
  /** It waits for a signal or a callback. */
  | "waiting"
  /** A step failed, or a turn did not get on. It will be tried again. */
  | "retrying"
  /** Somebody stopped it, until they resume it. */
  | "paused"
  /** It does not fit the code; other code unblocks it. */
  | "blocked"
  /** It cleans up, and then ends: it was cancelled, its timeout has passed, its history is full, or its handler has thrown. */
  | "cancelling"
  /** Its handler has ended without a result. What it did is undone, the last step first. */
  | "compensating"
  | "completed"
  /** Also a run that has timed out. */
  | "failed"
  /** Somebody cancelled or terminated it. */
  | "cancelled";
/** Which runs. All that is given must hold. Instants are in epoch milliseconds. */
export interface WireFilter {
  readonly workflow?: string;
  readonly version?: number;
  readonly status?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Id of the run that started them. */
  readonly parent?: string;
  readonly createdFrom?: number;
  readonly createdBefore?: number;
  readonly endedFrom?: number;
  readonly endedBefore?: number;
}
export interface ListCall extends WireFilter {
  readonly before?: string;
  readonly limit: number;
  /** How many rows the database may look at for this page. */
  readonly walk: number;
}
export interface ListAnswer {
  readonly runs: readonly WireRunView[];
  /** Id of the last row that was looked at, if `walk` ended the page. Null: the page ended otherwise. */
  readonly next: string | null;
}
/** How many runs fit, up to the `limit` of the call. A database of an earlier release lists them instead. */
export interface CountAnswer {
  readonly count?: number;
  /** As in a list. */
  readonly next: string | null;
}
export interface WireHistory {
  readonly runId: string;
  /** How many attempts have failed. `attempts` has the last ones of them. */
  readonly attemptCount: number;
  readonly records: readonly (Place & {
    readonly position: number;
    readonly kind: RecordKind;
    readonly attempts: number;
    readonly isFailure: boolean;
    readonly value: string | null;
    readonly beganAt: number | null;
    readonly recordedAt: number;
  })[];
  readonly attempts: readonly (Place & {
    readonly number: number;
    readonly beganAt: number;
    readonly endedAt: number;
    readonly error: string;
    readonly requestId: string | null;
  })[];
  /** The newest runs that it has started, in order. Functions of an earlier release leave them out. */
  readonly children?: readonly (Place & { readonly runId: string; readonly createdAt: number })[];
  readonly pending: readonly (Place & {
    readonly kind: PendingKind;
    readonly signal: string | null;
    /** Functions of an earlier release leave it out. */
    readonly childRunId?: string | null;
    readonly until: number | null;
    readonly readyAt: number | null;
    readonly leasedUntil: number | null;
    readonly attempts: number;
    /** How many turns in a row were lost. Functions of an earlier release leave it out. */
    readonly lost?: number;
    readonly isQueued: boolean;
    /** The epoch of a callback's URL. Functions of an earlier release leave it out. */
    readonly epoch?: number;
  })[];
  /** The epoch that is shown. Functions of an earlier release leave it out. */
  readonly epoch?: number;
  /**
   * Who gave the results that people gave instead of those of steps, by the positions of their records. Null: nobody was
   * named. Functions of an earlier release leave it out.
   */
  readonly given?: Readonly<Record<string, string | null>> | null;
  /** The last epochs after the first one. */
  readonly epochs?: readonly {
    readonly epoch: number;
    readonly why: "continued" | "restarted" | "retried" | "forked";
    readonly beganAt: number;
    readonly kept: number;
  }[];
  /** The last operations. Functions of an earlier release leave them out. */
  readonly operations?: readonly {
    readonly callId: string;
    readonly verb: string;
    readonly by: string | null;
    readonly reason: string | null;
    readonly askedAt: number;
    /** The outcome of the call. */
    readonly verdict: string;
  }[];
}
