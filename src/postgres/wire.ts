/**
 * What the SQL functions take and answer: one json in, one json out. Times are the database's, in epoch milliseconds;
 * values are the codec's text. The file is long since it holds the whole life of a turn, from the claim to the finish, whose
 * types refer to each other.
 */
import type { CallbackPlace } from "../core/replay/demand.ts";
import type { Failure } from "../core/replay/failing.ts";
import type { Patch } from "../core/replay/patches.ts";
import type { Segment } from "../core/replay/segments.ts";

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
    /** The version whose code it runs. Releases before leave it out. */
    readonly version?: number;
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
  /** How many claims in a row may be made alone without a finish. After that, the run is set back. */
  readonly maxClaims: number;
  /** How many of these claims may begin. After that, the step fails without being run. */
  readonly maxBeginnings: number;
  /** The most bytes of the answer, roughly. At least one turn is claimed. Left out: any number. */
  readonly budgetBytes?: number;
  /** Whether the caller understands `due_late`. */
  readonly movesDue?: true;
  /** Whether the caller understands a run that is not in its first epoch. */
  readonly knowsEpochs?: true;
  /** Whether the caller understands a run that closes since its handler has thrown amid a cleanup. */
  readonly knowsThrows?: true;
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
export type RecordKind =
  | "step"
  | "sleep"
  | "signal"
  | "callback"
  | "cancellation"
  | "close"
  | "closing"
  | "ending"
  | "start"
  | "child";
export type PendingKind = "branch" | "retry" | "sleep" | "signal" | "callback" | "child";
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
  /** The epoch of the URL by which it came. Functions of an earlier release leave it out. */
  readonly epoch?: number;
}
/** How a run has ended that the claimed one waits for. */
export interface WireChildEnd extends Place {
  readonly status: "completed" | "failed" | "cancelled";
  readonly value: string;
  readonly endedAt: number;
}
export interface WireFiring {
  readonly schedule: string;
  /** The instant that its calendar names. */
  readonly at: number;
  readonly firedAt: number;
  /** Whether the schedule's code makes the input. */
  readonly computesInput: boolean;
}
export interface WireRun {
  readonly workflow: string;
  readonly version: number;
  readonly userId: string | null;
  readonly input: string;
  readonly isInputParsed: boolean;
  readonly createdAt: number;
  /** When it begins, if its start has a delay. Functions of an earlier release leave it out. */
  readonly startsAt?: number | null;
  readonly traceparent: string | null;
  readonly parentRunId: string | null;
  /** That of the contract with which it was started. Functions of an earlier release leave it out. */
  readonly signature?: string | null;
  /** The firing of the schedule that has started it. */
  readonly scheduled?: WireFiring | null;
  readonly tags: Readonly<Record<string, string>> | null;
  /** What the history is made of. Left out: it is of one piece, since the run is in its first epoch. */
  readonly segments?: readonly [Segment, ...Segment[]];
}
interface Claimed {
  readonly outcome: "claimed";
  readonly now: number;
  readonly epoch: number;
  readonly turn: number;
  /**
   * The caller's position, if the database could use it: `records` begin after it. Null: the answer has the whole
   * history, and `run`. A field that is absent or null means that there is none.
   */
  readonly have: number | null;
  readonly position: number;
  readonly handedPosition: number;
  readonly lastRecordAt: number;
  /** The instant since which the claim could have succeeded, if it waited for one. Functions of an earlier release leave it out. */
  readonly readyAt?: number | null;
  /** The run's timeout. Functions of an earlier release leave it out for a branch. */
  readonly timeoutAt?: number | null;
  /** How many claims in a row were made alone and not finished, this one included. Mostly 0: none was made alone. */
  readonly claims: number;
  /** How many of the claims before this one have begun. */
  readonly beginnings: number;
  /** The last attempt that was written down before its body began, as `begins` of a renewal named it. */
  readonly begun?: string | null;
  /**
   * The records. If the budget of bytes has no room for all, they are only the first ones, and `read_page` answers the
   * others up to `position`.
   */
  readonly records?: readonly WireRecord[] | null;
  /** The changes of its code that the run has met. */
  readonly patches?: readonly Patch[] | null;
  readonly run?: WireRun | null;
}
export interface ClaimedRun extends Claimed {
  readonly historyBytes: number;
  /** Why mail of it cannot be decrypted. Encryption says it, and not the database. */
  readonly unreadable?: string;
  readonly pending?: readonly WirePending[] | null;
  readonly signals?: readonly WireSignal[] | null;
  readonly callbacks?: readonly WireCallback[] | null;
  /** The ends of runs that it waits for, and whether there are more of them. */
  readonly children?: { readonly isMore: boolean; readonly ends: readonly WireChildEnd[] } | null;
  /** Its handler has ended, and these steps have no record and may have had their effect. */
  readonly attempted?: readonly Attempted[] | null;
  /** How the run ends that closes, whatever its code comes to by now. Functions and finishes of an earlier release leave it out. */
  readonly endsAs?: EndsAs | null;
}
/** How a run ends whose handler has ended: what the finish would say that ends it. */
export interface EndsAs {
  readonly next: "failed" | "cancelled";
  /** The error, as the codec's text. */
  readonly value: string;
  readonly failure?: Failure;
}
export interface Attempted extends Place {
  /** The run that was invoked. Left out: a step was carried out. */
  readonly runId?: string;
  /** How many attempts the step had. Functions of an earlier release leave it out. */
  readonly attempts?: number;
  /** The error of its last attempt, as the codec's text. Left out: it is not known, or the answer has no room for it. */
  readonly error?: string;
}
export interface ClaimedBranch extends Claimed {
  /** How many attempts have already failed. */
  readonly attempts: number;
}
export type ClaimRefusal =
  | { readonly outcome: "stale"; readonly turn: number }
  | { readonly outcome: "busy"; readonly until: number }
  | { readonly outcome: "not_ready"; readonly readyAt: number | null }
  | { readonly outcome: "over"; readonly status: string }
  /** The turn did not fit in the budget of bytes. Another call must claim it. */
  | { readonly outcome: "later" }
  /**
   * The turn was dispatched in vain several times, so the scheduler looks at its run no sooner than at `dueAt`. That is too
   * late for a turn under way. The run must be made due sooner, and the turn dispatched anew.
   */
  | { readonly outcome: "due_late"; readonly dueAt: number }
  /**
   * The call has more turns than this one may go with. It must come in a call of at most `groupSize` turns: 16, 4 or 1.
   */
  | { readonly outcome: "alone"; readonly groupSize: number }
  /** This deployment does not carry the version, or has refused the run. `carriers`: the addresses of others that may take it. */
  | { readonly outcome: "not_here"; readonly carriers?: readonly string[] | null }
  | { readonly outcome: "paused" | "blocked" | "superseded" | "unknown" | "wrong_environment" };
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

/** Asks how runs have ended that a claimed run has invoked. */
export interface EndsCall {
  readonly runId: string;
  readonly token: string;
  readonly runIds: readonly string[];
}
export type EndsAnswer =
  | { readonly outcome: "read"; readonly now: number; readonly isMore: boolean; readonly ends: readonly InvokedEnd[] }
  | { readonly outcome: "superseded"; readonly now: number };
export interface InvokedEnd {
  readonly runId: string;
  readonly status: "completed" | "failed" | "cancelled";
  /** Its result or its error, as the codec's text. */
  readonly value: string;
}

export interface NewRecord extends Place {
  readonly kind: RecordKind;
  readonly value?: string;
  readonly isFailure?: boolean;
  readonly at: number;
  readonly beganAt?: number;
  readonly attempts?: number;
  /** The number of the signal that it takes. */
  readonly signal?: number;
  /** The epoch of the URL of the callback that it ends. Left out: that of the run. */
  readonly callbackEpoch?: number;
}
export interface NewDemand extends Place {
  readonly kind: PendingKind;
  readonly demandedAfter: number;
  readonly ordinal: number;
  readonly signal?: string;
  readonly until?: number;
  readonly map?: { readonly path: string; readonly slots: number | null; readonly failsFast: boolean };
  /** The epoch of a callback's URL. Left out: that of the run. */
  readonly callbackEpoch?: number;
  /** It was asked for in `step.cleanup`, so it outlives the run's cancel. */
  readonly isShielded?: true;
}
/** A run that the turn starts. */
export interface NewChild extends Place {
  readonly demandedAfter: number;
  readonly ordinal: number;
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /** That of the contract. */
  readonly signature?: string;
  /** The codec's text. */
  readonly input: string;
  readonly id?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly traceparent?: string;
  /** The timeout of the new run. */
  readonly timeoutMs?: number;
  /** When its parent stops waiting for it. Left out: never. */
  readonly until?: number;
  /** Nobody waits for it. */
  readonly isDetached?: true;
  /** It is cancelled when its parent waits for it no more. */
  readonly isBound?: true;
}
export interface FailedAttempt extends Place {
  readonly number: number;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly error: string;
  readonly requestId?: string;
  readonly demandedAfter: number;
  /** The step stands in `step.cleanup`, so its row outlives the run's cancel. */
  readonly isShielded?: true;
  /** Left out: it was the last one. */
  readonly retryInMs?: number;
}
/** What a run says of itself (`step.setStatus`): the codec's text. */
export interface Saying {
  readonly value: string;
  /** The position of the last record that the handler had seen. */
  readonly saidAfter: number;
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
  /** The runs that the turn starts. They are dropped if the finish is deferred. */
  readonly children?: readonly NewChild[];
  readonly attempt?: FailedAttempt;
  /**
   * Names of signals that the turn closes. If such a signal has come that its records do not take, the finish is
   * deferred.
   */
  readonly closes?: readonly string[];
  /** The callback whose announcement failed for good. If its answer has come, the finish is deferred. */
  readonly announces?: CallbackPlace;
  /** Decided races: the prefix of their branches' paths, and the position that decided. */
  readonly released?: readonly { readonly prefix: string; readonly position: number }[];
  /**
   * The handler has ended, and steps that can be undone or run at most once have no record: nothing new begins, and what is
   * at work ends.
   * The claim after that tells which of them may have had their effect.
   */
  readonly closing?: true;
  /**
   * The run's history is full: its handler is told, as after a cancel, and cleans up before the run ends by `endsAs`. Or the handler has
   * thrown amid a cleanup of another part (`endsAs` has a `failure`): that goes on before the run ends.
   * It comes with `closing`, by which functions of releases before end the run at once.
   */
  readonly cleansUp?: true;
  /** Its last record is the `ending`, with so many undos. It is refused while a lease stands. */
  readonly ending?: number;
  /** How the run ends, beside `closing` or `ending`. It is kept if the run closes. Releases before leave it out. */
  readonly endsAs?: EndsAs;
  /** How many undos failed for good. */
  readonly failedUndos?: number;
  /** What failed the run, for whoever retries it. */
  readonly failure?: Failure;
  /** The input of the run's next epoch: the handler has continued as new. Its pending rows are dropped. */
  readonly continues?: string;
  /** What the run says of itself, in order: the last one counts. If the finish is deferred, the last one up to `position`. */
  readonly says?: readonly Saying[];
  /** The changes of its code that the run has met. If the finish is deferred, those up to `position` are kept. */
  readonly patches?: readonly Patch[];
  /** The input that the code of the run's schedule has made, as the codec's text. It is stored if none is. */
  readonly input?: string;
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
  readonly announces?: CallbackPlace;
  /** Why the code does not fit the history. It blocks the run, unless another deployment than `deployment` may fit. */
  readonly blocked?: string;
  readonly deployment?: string;
  /** Why this turn did not get on. The next turn tries again. After some tries the run is blocked. */
  readonly setback?: string;
  /** What its body says of the run. */
  readonly says?: readonly Saying[];
  readonly bytes?: number;
  readonly armed: readonly number[];
}
export type BranchRef = Place & { readonly turn: number };
export interface OtherTurn {
  readonly runId: string;
  readonly turn: number;
}
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
      /** The branches that may be claimed at once. */
      readonly branches?: readonly BranchRef[] | null;
      /** The turn of the run, if the finish of a branch made it ready. */
      readonly continues?: number | null;
      /** Whether its `children` were started. Otherwise the next turn asks for them again. */
      readonly hasStarted?: boolean | null;
      /** Turns of other runs that may be claimed at once: of those that were started, or of the one that waited for this end. */
      readonly others?: readonly OtherTurn[] | null;
      readonly claim?: ClaimedRun | ClaimRefusal;
    }
  | { readonly outcome: "superseded" | "unknown" }
  | { readonly outcome: "raised"; readonly sqlState: string; readonly message: string };

export interface RenewTurn extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
  /** How many beginnings in a row the turn has had, this one included. Only for a turn that was claimed alone. */
  readonly beginnings?: number;
  /** Names the attempt that is about to begin, of a step that runs at most once. */
  readonly begins?: string;
  /** What the run says of itself, as the codec's text. */
  readonly says?: string;
}
/** A turn that is given back unfinished. */
export interface ReturnTurn extends Partial<Place> {
  readonly runId: string;
  readonly token: string;
}
export type ReturnAnswer = { readonly outcome: "returned" | "superseded" };
export type RenewAnswer =
  | {
      readonly outcome: "renewed";
      readonly leasedUntil: number;
      /** The run's cancel was asked for, and its handler does not know yet. */
      readonly cancel?: { readonly reason: string | null } | null;
      /** The run's timeout. Null: it is paused, or has none. Functions of an earlier release leave it out. */
      readonly timeoutAt?: number | null;
    }
  | { readonly outcome: "superseded" }
  /** Somebody else has locked the run or the branch, and the call `skipsLocked`. */
  | { readonly outcome: "locked" };
