/**
 * What the SQL functions take and answer: one json in, one json out. Times are the database's, in epoch milliseconds;
 * values are the codec's text.
 */

/** Where a step, sleep or wait stands in a run: scopes and name, and its occurrence there. */
export interface Place {
  readonly path: string;
  readonly occurrence: number;
}

export interface StartCall {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly encodedInput: string;
  /** A digest of what the schema made that of, where it is something else. */
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
      readonly turn?: number;
      readonly readyAt?: number;
      readonly now: number;
    }
  | { readonly outcome: "exists"; readonly runId: string; readonly now: number }
  | { readonly outcome: "conflict"; readonly runId: string | null; readonly now: number };

export interface ClaimTurn extends Partial<Place> {
  readonly runId: string;
  readonly turn: number;
  readonly token: string;
  readonly alone: boolean;
  /** The part of the history that this process holds. */
  readonly have?: {
    readonly epoch: number;
    readonly position: number;
    /** It knows the pending rows that were demanded up to there. Left out: all of them. */
    readonly rowsThrough?: number;
  };
}
export interface ClaimCall {
  readonly environment: string;
  readonly endpoint: string;
  readonly versions: Readonly<Record<string, readonly number[]>>;
  readonly leaseMs: number;
  readonly maxClaims: number;
  readonly turns: readonly ClaimTurn[];
}
/** [kind, path, occurrence, isFailure, value, recordedAt, attempts] */
export type WireRecord = readonly [
  kind: RecordKind,
  path: string,
  occurrence: number,
  isFailure: boolean,
  value: string | null,
  recordedAt: number,
  attempts: number,
];
export type RecordKind = "step" | "sleep" | "signal" | "callback" | "cancellation";
export type PendingKind = "branch" | "retry" | "sleep" | "signal" | "callback";
export interface WirePending extends Place {
  readonly kind: PendingKind;
  readonly demandedAfter: number;
  readonly until: number | null;
  readonly attempts: number;
  /** Set: its record is in the history already. */
  readonly position: number | null;
  readonly isReleased: boolean;
}
export interface WireSignal {
  readonly number: number;
  readonly name: string;
  readonly payload: string;
  readonly isParsed: boolean;
  readonly receivedAt: number;
}
export interface WireCallback extends Place {
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  readonly answeredAt: number;
}
export interface WireRun {
  readonly workflow: string;
  readonly version: number;
  readonly userId: string | null;
  readonly input: string;
  readonly isInputParsed: boolean;
  readonly createdAt: number;
  readonly traceparent: string | null;
  readonly parentRunId: string | null;
  readonly tags: Readonly<Record<string, string>> | null;
}
interface Claimed {
  readonly outcome: "claimed";
  readonly now: number;
  readonly epoch: number;
  readonly turn: number;
  /** The position from which `records` go on, or null: all are here, and so is `run`. What is left out is nothing. */
  readonly have: number | null;
  readonly position: number;
  readonly handedPosition: number;
  readonly lastRecordAt: number;
  readonly claims: number;
  readonly records?: readonly WireRecord[] | null;
  readonly run?: WireRun | null;
}
export interface ClaimedRun extends Claimed {
  readonly timeoutAt: number | null;
  readonly historyBytes: number;
  readonly pending?: readonly WirePending[] | null;
  readonly signals?: readonly WireSignal[] | null;
  readonly callbacks?: readonly WireCallback[] | null;
}
export interface ClaimedBranch extends Claimed {
  /** That failed already. */
  readonly attempts: number;
}
export type ClaimRefusal =
  | { readonly outcome: "stale"; readonly turn: number }
  | { readonly outcome: "busy"; readonly until: number }
  | { readonly outcome: "not_ready"; readonly readyAt: number | null }
  | { readonly outcome: "over"; readonly status: string }
  | { readonly outcome: "alone" | "paused" | "blocked" | "not_here" | "superseded" | "unknown" | "wrong_environment" };
export interface ClaimAnswer {
  readonly now: number;
  /** One for each turn asked for, in order. */
  readonly turns: readonly (ClaimedRun | ClaimedBranch | ClaimRefusal)[];
}

export interface NewRecord extends Place {
  readonly kind: RecordKind;
  readonly value?: string;
  readonly isFailure?: boolean;
  readonly at: number;
  readonly beganAt?: number;
  readonly attempts?: number;
  /** Of the signal that it takes. */
  readonly signal?: number;
}
export interface NewDemand extends Place {
  readonly kind: PendingKind;
  readonly demandedAfter: number;
  readonly ordinal: number;
  readonly signal?: string;
  readonly until?: number;
  readonly map?: { readonly path: string; readonly slots: number | null; readonly failsFast: boolean };
}
export interface FailedAttempt extends Place {
  readonly number: number;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly error: string;
  readonly requestId?: string;
  readonly demandedAfter: number;
  /** Left out: it was the last one. */
  readonly retryInMs?: number;
}
export interface FinishRun {
  readonly runId: string;
  readonly token: string;
  /** The last position that this turn saw. */
  readonly position: number;
  readonly next: "ready" | "parked" | "completed" | "failed" | "cancelled" | "blocked";
  /** The result or the error; why it is blocked. */
  readonly value?: string;
  readonly records?: readonly NewRecord[];
  readonly demands?: readonly NewDemand[];
  readonly attempt?: FailedAttempt;
  /** Decided races: the prefix of their branches' paths, and the position that decided. */
  readonly released?: readonly { readonly prefix: string; readonly position: number }[];
  readonly bytes?: number;
  readonly armed: readonly number[];
  /** Claim the next turn in the same call, if the run is ready. */
  readonly claim?: ClaimTurn;
}
export interface FinishBranch extends Place {
  readonly runId: string;
  readonly turn: number;
  readonly token: string;
  readonly record?: {
    readonly value: string;
    readonly isFailure: boolean;
    readonly at: number;
    readonly beganAt: number;
    readonly attempts: number;
  };
  readonly attempt?: Omit<FailedAttempt, keyof Place | "demandedAfter">;
  /** The code does not fit the history: blocks the run. */
  readonly blocked?: string;
  readonly bytes?: number;
  readonly armed: readonly number[];
}
export type BranchRef = Place & { readonly turn: number };
export type FinishAnswer =
  | {
      readonly outcome: "finished" | "deferred";
      /** The next turn. */
      readonly turn: number;
      readonly status?: string;
      readonly isReady?: boolean;
      readonly readyAt?: number | null;
      /** That may be claimed at once. */
      readonly branches?: readonly BranchRef[] | null;
      /** A branch's: the turn of the run that it made ready. */
      readonly continues?: number | null;
      readonly claim?: ClaimedRun | ClaimRefusal;
    }
  | { readonly outcome: "superseded" | "unknown" }
  | { readonly outcome: "raised"; readonly sqlState: string; readonly message: string };

export interface RenewTurn extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
}
export type RenewAnswer =
  | { readonly outcome: "renewed"; readonly leasedUntil: number }
  | { readonly outcome: "superseded" };

export interface DueBranch extends BranchRef {
  readonly dispatches: number;
  readonly isUnfinished: boolean;
}
export interface DueRun {
  readonly runId: string;
  readonly turn: number;
  readonly dueAt: number | null;
  readonly dispatches: number;
  /** The run itself may be claimed now. */
  readonly isReady: boolean;
  /** It was claimed and not finished: dispatch it alone. */
  readonly isUnfinished: boolean;
  /** When something else of it must be looked at. */
  readonly nextAt: number | null;
  readonly branches: readonly DueBranch[] | null;
}
export interface DueCall {
  readonly versions: ClaimCall["versions"];
  readonly limit: number;
  /** Whether to this deployment all that is ready or blocked counts. Without: where the database does not know it. */
  readonly isNew?: boolean;
  readonly deployment?: string;
  readonly withinMs?: number;
  readonly after?: { readonly dueAt: number | null; readonly runId: string };
}
export interface DueAnswer {
  readonly now: number;
  readonly isNew: boolean;
  readonly runs: readonly DueRun[];
  readonly nextDueAt: number | null;
}
export interface Move {
  readonly runId: string;
  readonly seenDueAt: number | null;
  readonly dueAt: number | null;
  readonly isDispatched: boolean;
  readonly branches: readonly Place[];
}
export interface MoveCall {
  readonly moves: readonly Move[];
  readonly soonAt?: number;
  readonly isNew?: boolean;
}

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
  | { readonly outcome: "duplicate"; readonly runId: string }
  | { readonly outcome: "over"; readonly runId: string; readonly status: string }
  | { readonly outcome: "unknown" };

export interface CallbackCall extends Place {
  readonly runId: string;
  readonly epoch: number;
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  /** A digest of what the schema made the value of, where it is something else. */
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
  readonly turn: number;
  readonly input: string | null;
  readonly result: string | null;
  readonly error: string | null;
  /** Values that are there, and too long for this answer. */
  readonly leftOut: readonly ("input" | "result" | "error")[];
  readonly blocked: string | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly readyAt: number | null;
  readonly dueAt: number | null;
  readonly leasedUntil: number | null;
  readonly timeoutAt: number | null;
  readonly records: number;
  readonly tags: Readonly<Record<string, string>>;
}
/** What people see, derived from the rows (run_status.sql). The last three are for ever. */
export type RunStatus =
  /** Its next turn may begin, and has not. */
  | "queued"
  /** Somebody carries out a turn of it. */
  | "running"
  /** Until an instant. */
  | "sleeping"
  /** For a signal or a callback. */
  | "waiting"
  /** A step failed and will be tried again. */
  | "retrying"
  /** An operator stopped it, until they resume it. */
  | "paused"
  /** It does not fit the code; other code unblocks it. */
  | "blocked"
  /** A cancel was asked for; it cleans up. */
  | "cancelling"
  | "completed"
  | "failed"
  | "cancelled";
export interface ListCall {
  readonly workflow?: string;
  readonly status?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly before?: string;
  readonly limit: number;
}
export interface WireHistory {
  readonly runId: string;
  /** That failed, of which the last ones are here. */
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
  readonly pending: readonly (Place & {
    readonly kind: PendingKind;
    readonly signal: string | null;
    readonly until: number | null;
    readonly readyAt: number | null;
    readonly leasedUntil: number | null;
    readonly attempts: number;
    readonly isQueued: boolean;
  })[];
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
  /** Null: made elsewhere, and known here since it was revoked. So is what follows. */
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
  /** Blocked; claimed and not finished; dispatched and not claimed; due, and nobody looks. */
  readonly keptBy: "blocked" | "crashes" | "unclaimed" | "overdue";
  readonly workflow: string;
  readonly version: number;
  /** Why they are blocked. */
  readonly reason: string | null;
  readonly runs: number;
  /** The earliest due instant. */
  readonly since: number | null;
  /** The most of one run. */
  readonly dispatches: number | null;
  readonly claims: number | null;
  /** One of them. */
  readonly example: string;
}
export interface Diagnosis {
  readonly now: number;
  readonly environment: { readonly name: string; readonly endpoint: string; readonly adoptedAt: number } | null;
  /** In which something was carried out. */
  readonly otherNamespaces: readonly string[];
  readonly hasRuns: boolean;
  /** There is more that is due than was looked at. */
  readonly isCut: boolean;
  /** When a turn ended, as far as it was looked at. */
  readonly lastTurnAt: number | null;
  readonly troubles: readonly Trouble[];
}
