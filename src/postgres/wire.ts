/**
 * What the SQL functions take and answer: one json in, one json out. Times are the database's, in epoch milliseconds;
 * values are the codec's text.
 */

/** The place of a step, sleep or wait in a run: scopes and name, and its occurrence there. */
export interface Place {
  readonly path: string;
  readonly occurrence: number;
}
export interface ClaimTurn extends Partial<Place> {
  readonly runId: string;
  readonly turn: number;
  readonly token: string;
  /** Whether it must be a call of its own. No other such call may be under way in this process. */
  readonly alone: boolean;
  /**
   * The most turns that its call may have. No other such call may be under way in this process. Left out: any number,
   * beside others.
   */
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
  /** Id of the caller's deployment. It gets no run that it has refused. */
  readonly deployment?: string;
  readonly leaseMs: number;
  /** How many claims in a row may be made alone without a finish. `maxBeginnings`: how many of them may begin. */
  readonly maxClaims: number;
  readonly maxBeginnings: number;
  /** About how many bytes the answer may have. At least one turn is claimed. Left out: any number. */
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
  /** The run's timeout. Functions of an earlier release leave it out for a branch. */
  readonly timeoutAt?: number | null;
  /** How many claims in a row were made alone, with this one. `beginnings`: how many of those before it have begun. */
  readonly claims: number;
  readonly beginnings: number;
  /**
   * The records. If the budget of bytes has no room for all, they are only the first ones, and `read_page` answers the
   * others up to `position`.
   */
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
  /** The turn did not fit in the budget of bytes. Another call must claim it. */
  | { readonly outcome: "later" }
  /** The turn goes in a call of at most so many turns. */
  | { readonly outcome: "alone"; readonly groupSize: number }
  | { readonly outcome: "paused" | "blocked" | "not_here" | "superseded" | "unknown" | "wrong_environment" };
export interface ClaimAnswer {
  readonly now: number;
  /** One for each turn asked for, in order. */
  readonly turns: readonly (ClaimedRun | ClaimedBranch | ClaimRefusal)[];
}

/** A call by the holder of a lease whose claim answered only the first records. */
export interface PageCall extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
  readonly epoch: number;
  /** The position after which the records begin. They end with the record at `through`. */
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
  /** The number of the signal that it takes. */
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
  /** Id of the deployment whose code does not fit, if the run is blocked. Another deployment may have code that fits. */
  readonly deployment?: string;
  /** Why this turn of a parked run did not get on. The next turn tries again. After some tries the run is blocked. */
  readonly setback?: string;
  readonly records?: readonly NewRecord[];
  readonly demands?: readonly NewDemand[];
  readonly attempt?: FailedAttempt;
  /**
   * Names of signals that the turn closes. If such a signal has come that its records do not take, the finish is
   * deferred.
   */
  readonly closes?: readonly string[];
  /** The callback whose announcement failed for good. If its answer has come, the finish is deferred. */
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
  /** The callback that it announces. If its answer has come, a failed attempt counts as one that succeeded. */
  readonly announces?: Place;
  /** Why the code does not fit the history. It blocks the run, unless another deployment than `deployment` may fit. */
  readonly blocked?: string;
  readonly deployment?: string;
  /** Why this turn did not get on. The next turn tries again. After some tries the run is blocked. */
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
      /** Whether this was the last setback, so that the run is blocked. */
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
/** A turn that is given back unfinished. */
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
  /** The most turns that its invocation may have. Null: any number. */
  readonly groupSize: number | null;
}
export interface DueRun {
  readonly runId: string;
  readonly turn: number;
  readonly dueAt: number | null;
  readonly dispatches: number;
  /** Whether the run itself may be claimed now. Its branches are listed apart. */
  readonly isReady: boolean;
  /** Whether its turn was claimed and not finished. */
  readonly isUnfinished: boolean;
  /** The most turns that its invocation may have. Null: any number. */
  readonly groupSize: number | null;
  /** The earliest wake instant of the run and its branches that is still to come. Null: none. */
  readonly nextAt: number | null;
  /** The run's timeout, if it is to come. */
  readonly timeoutAt?: number | null;
  readonly branches: readonly DueBranch[] | null;
  /** The ready instant of the run itself, if it is not ready now. */
  readonly ownAt?: number | null;
  /** The branches that will be ready within `withinMs`, each with its ready instant (`at`). */
  readonly later?: readonly (BranchRef & { readonly at: number })[] | null;
}
export interface DueCall {
  /** Name of the caller's environment. Left out: the database does not compare it. */
  readonly environment?: string;
  readonly versions: ClaimCall["versions"];
  readonly limit: number;
  /** Whether everything that is ready or blocked counts as due. Left out: yes, if the database does not know the deployment. */
  readonly isNew?: boolean;
  /** Name of the caller's deployment. Its id comes beside it. */
  readonly deploymentName?: string;
  readonly deployment?: string;
  /** How far ahead runs are listed that are not due yet. Default: 0. */
  readonly withinMs?: number;
  readonly after?: { readonly dueAt: number | null; readonly runId: string };
}
export interface DueAnswer {
  readonly now: number;
  /** False: the database belongs to another environment, and nothing was looked at. */
  readonly isOurs: boolean;
  /** Whether everything that is ready or blocked counted as due. */
  readonly isNew: boolean;
  /** Whether the deployment must note that it is deployed. */
  readonly isUnnoted?: boolean;
  /** Whether the deployment must note that it is still there. Null: the database does not know it. */
  readonly isStale?: boolean | null;
  readonly runs: readonly DueRun[];
  /** The earliest due instant to come of all runs of the namespace. */
  readonly nextDueAt: number | null;
}
export interface ProcessCall {
  readonly environment: string;
  readonly id: string;
  readonly door: string;
  readonly versions: ClaimCall["versions"];
  readonly isLeaving?: boolean;
  /** Ids of other processes that this one has not reached for minutes. */
  readonly gone: readonly string[];
  /** How long such a process must not have written its row before it is struck. */
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
   * What is noted. `deployed`: it is deployed now, again or for the first time. `looked`: since then it has looked at
   * all that is ready or blocked. `seen`: it still ticks. `left`: one of its processes has ended.
   */
  readonly note: "deployed" | "looked" | "seen" | "left";
  /** The versions that it carries, with `deployed`. */
  readonly versions?: ClaimCall["versions"];
  /** Whether nobody else uses the database, with `deployed`. Then all other deployments are gone. */
  readonly isExclusive?: boolean;
  /** The last blocked run that was tried, where further ones are left. */
  readonly triedThrough?: string | undefined;
}
export interface Move {
  readonly runId: string;
  /** The due instant that the scheduler has read. If the run has another one by now, it is left alone. */
  readonly seenDueAt: number | null;
  /** The new due instant, for which an alarm stands. */
  readonly dueAt: number | null;
  /** Whether the run itself is about to be dispatched. */
  readonly isDispatched: boolean;
  /** The branches that are about to be dispatched. */
  readonly branches: readonly Place[];
}
export interface MoveCall {
  readonly moves: readonly Move[];
  /** The due instant of runs that were woken after they were listed. An alarm stands for it. */
  readonly soonAt?: number;
  /** Whether dispatches are counted from the beginning. */
  readonly isNew?: boolean;
  /** Id of the caller's deployment. A run that it has refused does not count as dispatched. */
  readonly deployment?: string;
  /** Whether runs that somebody has locked are left alone. Otherwise the call waits for them. */
  readonly skipsLocked?: true;
}
export interface MoveAnswer {
  readonly now: number;
  /** How many runs were left alone because they were woken after they were listed. */
  readonly left: number;
  /** Ids of the runs that somebody had locked. */
  readonly locked: readonly string[];
}
