/**
 * What the SQL functions take and answer: one json in, one json out. Times are the database's, in epoch milliseconds;
 * values are the codec's text.
 */

/** Where a step, sleep or wait stands in a run: scopes and name, and its occurrence there. */
export interface Place {
  readonly path: string;
  readonly occurrence: number;
}
export interface ClaimTurn extends Partial<Place> {
  readonly runId: string;
  readonly turn: number;
  readonly token: string;
  /** It is a call of its own, and no other one of its kind is under way in this process. */
  readonly alone: boolean;
  /** The call has at most so many turns, and no other one of its kind is under way in this process. Left out: it may. */
  readonly groupSize?: number;
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
  /** Id of the caller's deployment: what it has refused it does not get. */
  readonly deployment?: string;
  readonly leaseMs: number;
  /** In a row and without a finish: of what was claimed alone, and of that which began. */
  readonly maxClaims: number;
  readonly maxBeginnings: number;
  /** How large the answer may be, about; one turn is claimed at least. Left out: any. */
  readonly budgetBytes?: number;
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
export type RecordKind = "step" | "sleep" | "signal" | "callback" | "cancellation" | "close";
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
  /** Left out: the functions of an earlier release, of a branch. */
  readonly timeoutAt?: number | null;
  /** By how many in a row it was claimed alone, with this one; and how many of those before have begun. */
  readonly claims: number;
  readonly beginnings: number;
  /** Where the budget of bytes has no room for all of them, the first ones: `read_page` answers those up to `position`. */
  readonly records?: readonly WireRecord[] | null;
  readonly run?: WireRun | null;
}
export interface ClaimedRun extends Claimed {
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
  /** It did not fit in the budget of bytes, and is to be claimed by another call. */
  | { readonly outcome: "later" }
  /** It goes in a call of at most so many turns. */
  | { readonly outcome: "alone"; readonly groupSize: number }
  | { readonly outcome: "paused" | "blocked" | "not_here" | "superseded" | "unknown" | "wrong_environment" };
export interface ClaimAnswer {
  readonly now: number;
  /** One for each turn asked for, in order. */
  readonly turns: readonly (ClaimedRun | ClaimedBranch | ClaimRefusal)[];
}

/** For the holder of a lease, whose claim answered only the first records. */
export interface PageCall extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
  readonly epoch: number;
  /** The records after this position, and through that one. */
  readonly after: number;
  readonly through: number;
  readonly budgetBytes: number;
}
export type PageAnswer =
  | { readonly outcome: "read"; readonly now: number; readonly records: readonly WireRecord[] | null }
  | { readonly outcome: "superseded"; readonly now: number };

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
  /** Where it is blocked: id of the deployment whose code does not fit. Another one may have the code. */
  readonly deployment?: string;
  /** Of a parked run: why this turn did not get on. The next one tries again, some times, and then the run is blocked. */
  readonly setback?: string;
  readonly records?: readonly NewRecord[];
  readonly demands?: readonly NewDemand[];
  readonly attempt?: FailedAttempt;
  /** Names of signals that it closes. If one of them has come that its records do not take, the finish is deferred. */
  readonly closes?: readonly string[];
  /** The callback whose announcement failed for good. If its answer is there, the finish is deferred. */
  readonly announces?: Place;
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
  /** The callback that it announces. If its answer is there, an attempt that failed counts as one that succeeded. */
  readonly announces?: Place;
  /** The code does not fit the history: blocks the run, unless another deployment than `deployment` may fit. */
  readonly blocked?: string;
  readonly deployment?: string;
  /** Why this turn did not get on. The next one tries again, some times, and then the run is blocked. */
  readonly setback?: string;
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
      /** Of a setback: whether it was the last one, and the run is blocked. */
      readonly isBlocked?: boolean;
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
  /** It was claimed alone and is about to begin: how many have begun so in a row, with this one. */
  readonly beginnings?: number;
}
/** Of a turn that is given back unfinished. */
export interface ReturnTurn extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
}
export type ReturnAnswer = { readonly outcome: "returned" | "superseded" };
export type RenewAnswer =
  | { readonly outcome: "renewed"; readonly leasedUntil: number }
  | { readonly outcome: "superseded" };

export interface DueBranch extends BranchRef {
  readonly dispatches: number;
  readonly isUnfinished: boolean;
  /** Null: it goes with any number. */
  readonly groupSize: number | null;
}
export interface DueRun {
  readonly runId: string;
  readonly turn: number;
  readonly dueAt: number | null;
  readonly dispatches: number;
  /** The run itself may be claimed now. */
  readonly isReady: boolean;
  /** It was claimed and not finished. */
  readonly isUnfinished: boolean;
  /** In an invocation of how many turns it may go at most. Null: of any number. */
  readonly groupSize: number | null;
  /** When something else of it must be looked at. */
  readonly nextAt: number | null;
  /** When its timeout passes, where that is to come. */
  readonly timeoutAt?: number | null;
  readonly branches: readonly DueBranch[] | null;
  /** When the run itself may be claimed, where that is not now. */
  readonly ownAt?: number | null;
  /** Branches that may be claimed within `withinMs`, but not now. */
  readonly later?: readonly (BranchRef & { readonly at: number })[] | null;
}
export interface DueCall {
  /** Without: whichever it is. */
  readonly environment?: string;
  readonly versions: ClaimCall["versions"];
  readonly limit: number;
  /** Whether to this deployment all that is ready or blocked counts. Without: where the database does not know it. */
  readonly isNew?: boolean;
  /** Name and id. */
  readonly deploymentName?: string;
  readonly deployment?: string;
  /** How far ahead a run may be due that counts as well. */
  readonly withinMs?: number;
  readonly after?: { readonly dueAt: number | null; readonly runId: string };
}
export interface DueAnswer {
  readonly now: number;
  /** False: the database belongs to another environment, and nothing was looked at. */
  readonly isOurs: boolean;
  readonly isNew: boolean;
  /** The deployment is to note that it is deployed. */
  readonly isUnnoted?: boolean;
  /** The deployment is to note that it is still there. Null: it is not known. */
  readonly isStale?: boolean | null;
  readonly runs: readonly DueRun[];
  readonly nextDueAt: number | null;
}
export interface ProcessCall {
  readonly environment: string;
  readonly id: string;
  readonly door: string;
  readonly versions: ClaimCall["versions"];
  readonly isLeaving?: boolean;
  /** Other processes that were not reached for minutes. */
  readonly gone: readonly string[];
  /** Of these only who has not written its row for so long is struck. */
  readonly silentMs: number;
}
export interface ProcessAnswer {
  readonly now: number;
  readonly others: readonly Pick<ProcessCall, "id" | "door" | "versions">[];
}
export interface NoteCall {
  readonly environment: string;
  readonly deploymentName: string;
  readonly deployment: string;
  /**
   * `deployed`: now, again or for the first time. `looked`: since then it has looked at all that is ready or blocked. `seen`: it
   * ticks still. `left`: a process of it has ended.
   */
  readonly note: "deployed" | "looked" | "seen" | "left";
  /** With `deployed`: the versions that it carries. */
  readonly versions?: ClaimCall["versions"];
  /** With `deployed`: nobody else uses the database, so all others are gone. */
  readonly isExclusive?: boolean;
  /** The last blocked run that was tried, where further ones are left. */
  readonly triedThrough?: string | undefined;
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
  /** Id of the caller's deployment. What it has refused does not count as dispatched. */
  readonly deployment?: string;
  /** Whether runs that somebody has locked are left alone instead of waited for. */
  readonly skipsLocked?: true;
}
export interface MoveAnswer {
  readonly now: number;
  /** How many runs were left alone, since they were woken after they were listed. */
  readonly left: number;
  /** Ids of the runs that somebody had locked. */
  readonly locked: readonly string[];
}
