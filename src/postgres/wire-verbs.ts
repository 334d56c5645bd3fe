/** What the SQL functions behind a client's verbs take and answer, and those of the command line. As in wire.ts. */
import type { OtherTurn, PendingKind, Place, RecordKind } from "./wire.ts";
import type { WireSchedule } from "./wire-schedules.ts";

export interface StartCall {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /** That of the contract. */
  readonly signature?: string;
  readonly encodedInput: string;
  /** A digest of the input as it was sent, if the schema made something else of it (`encodedInput`). */
  readonly sent?: string;
  readonly id?: string;
  readonly delayMs?: number;
  readonly startAt?: number;
  readonly timeoutMs?: number;
  readonly tags?: Readonly<Record<string, string>>;
  readonly traceparent?: string;
  readonly commitWithinMs?: number;
}
export type StartAnswer =
  | {
      readonly outcome: "started";
      readonly runId: string;
      /** Null: this call had started the run, and somebody has deleted it since. */
      readonly turn?: number | null;
      readonly readyAt?: number;
      /** Version of the run, if this call had started it before. */
      readonly version?: number;
      readonly now: number;
    }
  | { readonly outcome: "exists"; readonly runId: string; readonly version: number; readonly now: number }
  | { readonly outcome: "conflict"; readonly runId: string | null; readonly now: number };

/** A run by our id, or by its workflow and the user's own id. */
export type RunKey = { readonly runId: string } | { readonly workflow: string; readonly id: string };

export type SignalCall = RunKey & {
  readonly signalId: string;
  readonly name: string;
  readonly encodedPayload: string;
  readonly dedupeId?: string;
};
export type SignalAnswer =
  | { readonly outcome: "sent"; readonly runId: string; readonly turn?: number | null; readonly now?: number }
  | { readonly outcome: "duplicate" | "closed"; readonly runId: string }
  | { readonly outcome: "over"; readonly runId: string; readonly status: string }
  | { readonly outcome: "unknown" };

export type SignalWithStartCall = StartCall & Pick<SignalCall, "signalId" | "name" | "encodedPayload" | "dedupeId">;
export type SignalWithStartAnswer =
  | (Exclude<SignalAnswer, Unknown> & {
      /** Whether this call has started the run. */
      readonly isNew: boolean;
      /** Version of the run, if the run was there and has the same input. */
      readonly version: number | null;
      /** The run's turn, if it may be claimed. */
      readonly turn?: number | null;
      /** The instant from which on it may be claimed, if the run is new. */
      readonly readyAt?: number | null;
      readonly now: number;
    })
  | Extract<StartAnswer, { outcome: "conflict" }>;

/** What a person may do to a run, or to many. */
export type OperationVerb = "pause" | "resume" | "cancel" | "terminate";
/** What a person may do to one run. */
export type SingleVerb = OperationVerb | "delete";
export interface OperationCall {
  readonly runId: string;
  readonly callId: string;
  readonly reason?: string;
  readonly by?: string;
}
export type OperationAnswer =
  | { readonly outcome: "paused" | "deleted"; readonly runId: string }
  | {
      readonly outcome: "cancelled" | "terminated";
      readonly runId: string;
      /** The turn of the run that waited for its end. */
      readonly others?: readonly OtherTurn[];
    }
  | {
      /** It cleans up first. */
      readonly outcome: "cancelling";
      readonly runId: string;
      /** The run's turn, if it may be claimed at once. */
      readonly turn?: number;
    }
  | {
      readonly outcome: "resumed";
      readonly runId: string;
      /** The run's turn and the branches that may be claimed at once. */
      readonly turn?: number | null;
      readonly branches?: readonly (Place & { readonly turn: number })[] | null;
    }
  | { readonly outcome: "not_applicable"; readonly runId: string; readonly status: RunStatus }
  | { readonly outcome: "unknown" };

/** `epoch`: the one that its caller has seen. */
interface RepairCall extends OperationCall {
  readonly epoch?: number;
}
export interface RetryCall extends RepairCall {
  readonly results?: readonly (Place & { readonly value: string })[];
  readonly signal?: { readonly signalId: string; readonly name: string; readonly encodedPayload: string };
}
export interface RestartCall extends RepairCall {
  readonly from?: Place;
  readonly encodedInput?: string;
  readonly dryRun?: true;
}
export interface ForkCall {
  readonly runId: string;
  readonly newRunId: string;
  readonly epoch?: number;
  readonly from?: Place;
  readonly id?: string;
  readonly encodedInput?: string;
}
/** A record that a restart drops. */
export interface CutRecord extends Place {
  readonly position: number;
  readonly kind: RecordKind;
  readonly isFailure: boolean;
}
interface Cut {
  readonly runId: string;
  /** How many records stand before the cut, and how many after it. */
  readonly kept: number;
  readonly dropped: number;
}
export type RepairAnswer =
  | (Cut & {
      readonly outcome: "retried" | "restarted";
      readonly epoch: number;
      readonly turn?: number;
      /** The turns of other runs that may be claimed at once: they are asked to end. */
      readonly others?: readonly { readonly runId: string; readonly turn: number }[] | null;
    })
  | { readonly outcome: "child_failed"; readonly runId: string; readonly children: readonly string[] }
  | (Cut & { readonly outcome: "would_restart"; readonly records: readonly CutRecord[] })
  | { readonly outcome: "forked"; readonly runId: string; readonly turn?: number }
  | { readonly outcome: "not_applicable"; readonly runId: string; readonly status: RunStatus }
  | { readonly outcome: "at_work"; readonly runId: string; readonly until: number }
  | { readonly outcome: "epoch_changed"; readonly runId: string; readonly epoch: number }
  | { readonly outcome: "signal_closed"; readonly runId: string; readonly name: string }
  | { readonly outcome: "unknown_place" | "closing" | "conflict"; readonly runId: string }
  | ({ readonly outcome: "compensated"; readonly runId: string } & Partial<Place>)
  | {
      readonly outcome: "would_repeat" | "result_needed";
      readonly runId: string;
      readonly places: readonly Place[];
      /** Why the code does not fit what would be kept. */
      readonly why?: string;
    };

/** What a person may do to all runs that fit a filter. */
export type ManyVerb = SingleVerb | "retry" | "restart" | "signal";
/** What a person does to all runs that fit a filter: one page of them. */
export interface OperateRunsCall {
  readonly verb: ManyVerb;
  readonly filter: WireFilter;
  /** A uuid of version 7. Its time fixes the set. Left out: the database makes one. */
  readonly callId?: string;
  /** The `next` of the page before. */
  readonly before?: string;
  readonly limit: number;
  readonly walk: number;
  readonly reason?: string;
  readonly by?: string;
  readonly dryRun?: boolean;
  /** The place that a restart goes on from. Left out: the start. */
  readonly from?: Place;
  readonly signal?: { readonly name: string; readonly encodedPayload: string };
  /** Whether the deletion asks runs to end that are not over. */
  readonly cancels?: boolean;
  /** Whether they are paused or resumed with their workflow, which the filter names. */
  readonly holds?: true;
}
export interface OperateRunsAnswer {
  readonly callId: string;
  /** How many runs of this page fit. */
  readonly runs: number;
  readonly next: string | null;
  /** How many runs have had each outcome. Not in a dry run, as are the next three. */
  readonly outcomes?: Readonly<Record<string, number>>;
  readonly refused?: readonly WireRefusals[];
  readonly turns?: readonly { readonly runId: string; readonly turn: number }[];
  readonly branches?: readonly (Place & { readonly runId: string; readonly turn: number })[];
  /** How many runs are in each status. Only in a dry run. */
  readonly statuses?: Readonly<Record<string, number>>;
  /** The first ten of them. Only in a dry run. */
  readonly runIds?: readonly string[];
}
/** The pause of a workflow, or its end. */
export interface WorkflowCall {
  readonly workflow: string;
  readonly callId: string;
  readonly reason?: string;
  readonly by?: string;
}
export type WorkflowAnswer =
  | {
      /** How the workflow is now. */
      readonly outcome: "paused" | "resumed";
      /** Id of the call that paused it, or of this one. */
      readonly callId: string;
      /** Whether no start is under way that has not seen it. */
      readonly isCertain: boolean;
    }
  | { readonly outcome: "not_applicable" };
export interface WireRefusals {
  readonly code: "not_applicable" | "too_many_operations";
  readonly runs: number;
  /** The first ten. */
  readonly runIds: readonly string[];
}

export interface CallbackCall extends Place {
  readonly runId: string;
  readonly epoch: number;
  /** How many records its run had handed out when its URL was made. Left out: nobody knows. */
  readonly madeAt?: number;
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  /** A digest of the answer as it was sent, if the schema made something else of it (`value`). */
  readonly sent?: string;
}
export type CallbackAnswer =
  | { readonly outcome: "answered"; readonly turn?: number | null; readonly now?: number }
  | { readonly outcome: "conflict" | "expired" | "over" | "unknown" };
export interface CallbackState {
  readonly outcome: "open" | "resolved" | "rejected" | "expired" | "over" | "unknown";
  readonly until?: number | null;
}

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
  /** It was cancelled, or its timeout has passed, and it cleans up. */
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
export interface Unknown {
  readonly outcome: "unknown";
}

export interface KeyCall {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number;
}
export interface WireKey {
  readonly keyId: string;
  /** Null: the key was made elsewhere, and is known here only since it was revoked. Then the fields below are null too. */
  readonly name: string | null;
  readonly scopes: readonly string[] | null;
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}
export interface RevokeAnswer {
  /** `elsewhere`: the id is that of a key of another namespace, and nothing was revoked. */
  readonly outcome: "revoked" | "unknown" | "elsewhere";
  /** The name is null where nobody made it here. */
  readonly keys: readonly { readonly keyId: string; readonly name: string | null }[];
  readonly madeIn?: string;
}

/** Runs of one version that do not get on, all for the same reason. */
export interface Trouble {
  /**
   * What holds the runs up. `blocked`: they are blocked. `setback`: they are tried again later. `refused`: a deployment
   * refused them, and no other one took them. `crashes`: they were claimed and not finished. `unclaimed`: they were
   * dispatched and not claimed. `overdue`: they are due, and nobody looks.
   */
  readonly keptBy: "blocked" | "setback" | "refused" | "crashes" | "unclaimed" | "overdue";
  readonly workflow: string;
  readonly version: number;
  /** Why they are blocked, refused or tried again later. */
  readonly reason: string | null;
  /** Ids of the deployments that have refused them, separated by commas. Null: none has. */
  readonly refusedBy: string | null;
  readonly runs: number;
  /** The earliest due instant. */
  readonly since: number | null;
  /** The most of one run. */
  readonly dispatches: number | null;
  readonly claims: number | null;
  /** One of them. */
  readonly example: string;
}
/** The environment that a namespace belongs to. */
export interface KnownEnvironment {
  readonly name: string;
  /** The address at which it was adopted. */
  readonly endpoint: string;
  readonly adoptedAt: number;
  /** All addresses that lead to it, `endpoint` included. */
  readonly addresses: readonly string[];
  /** Whether this is the database that the namespace belongs to. Null: only its address was ever written down. */
  readonly isSameDatabase: boolean | null;
}

/** A build of a host that may carry out runs now. */
export interface LiveDeployment {
  readonly name: string;
  readonly id: string;
  readonly deployedAt: number;
  /** When its last tick was noted, which happens once an hour at most. Functions of an earlier release leave it out. */
  readonly seenAt?: number;
  /** The versions of each workflow that it carries. Functions of an earlier release leave it out. */
  readonly versions?: Readonly<Record<string, readonly number[]>>;
  /** Where other deployments ring. Null: nowhere. Functions of an earlier release leave it out. */
  readonly wakeAddress?: string | null;
}

/** Runs of one workflow and version that are not over. */
export interface WaitingVersion {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** Names of the live deployments that carry it. */
  readonly carriers: readonly string[];
}

export interface Diagnosis {
  readonly now: number;
  readonly environment: KnownEnvironment | null;
  /** The other namespaces in which something was carried out. */
  readonly otherNamespaces: readonly string[];
  readonly hasRuns: boolean;
  /** The deployments that are alive. */
  readonly deployments: readonly LiveDeployment[];
  /** There is more that is due than was looked at. */
  readonly isCut: boolean;
  /** When a turn ended, as far as it was looked at. */
  readonly lastTurnAt: number | null;
  readonly troubles: readonly Trouble[];
  /** The workflows that are paused. Undefined: the schema is older. */
  readonly pausedWorkflows?: readonly {
    readonly workflow: string;
    readonly since: number;
    readonly by: string | null;
    readonly reason: string | null;
  }[];
  /** Runs that ended within the last week, and of which an undo failed for good. Undefined: the schema is older. */
  readonly halfUndone?: readonly HalfUndone[];
  /** The versions of the newest runs that are not over. Undefined: the schema is older. */
  readonly waiting?: readonly WaitingVersion[];
  /** Runs that were started with another contract than those that are deployed. Undefined: the schema is older. */
  readonly otherContracts?: readonly OtherContract[];
  /** Schedules that do not fire, or not as some code says. Undefined: the schema is older. */
  readonly schedules?: readonly WireSchedule[];
}

/** Runs of one workflow and version that are not over. */
export interface OtherContract {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** Id of one of them. */
  readonly example: string;
}

/** Runs of one workflow and version. */
export interface HalfUndone {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** How many undos of them failed for good. */
  readonly undos: number;
  /** When the first of them ended. */
  readonly since: number;
  /** Id of the one that ended last. */
  readonly example: string;
}
