/** What the SQL functions of the scheduler take and answer, as in wire.ts. */
import type { KeepMs } from "../core/contract/contract.ts";
import type { ScheduleDefinition } from "../core/contract/schedule.ts";
import type { BranchRef, ClaimCall } from "./wire.ts";

export interface DueBranch extends BranchRef {
  readonly dispatches: number;
  /** As in `DueRun`. */
  readonly isUnfinished: boolean;
  /** The most turns that its invocation may have. Null: any number. */
  readonly groupSize: number | null;
}
export interface DueRun {
  readonly runId: string;
  readonly turn: number;
  readonly dueAt: number | null;
  readonly dispatches: number;
  /**
   * Whether the run itself may be claimed now: it is parked and ready, or blocked, or its lease has ended. Its branches are
   * listed apart.
   */
  readonly isReady: boolean;
  /** Whether its turn has a lease, which may have ended. */
  readonly isUnfinished: boolean;
  /** The most turns that its invocation may have. Null: any number. */
  readonly groupSize: number | null;
  /** The earliest wake instant of the run and its branches that is still to come. Null: none. */
  readonly nextAt: number | null;
  /** The run's timeout, if it is to come. */
  readonly timeoutAt?: number | null;
  readonly branches: readonly DueBranch[] | null;
  /**
   * The instant from which the run itself may be claimed: the end of its lease. Without a lease: its ready instant or its timeout,
   * whichever comes first, if it is to come.
   */
  readonly ownAt?: number | null;
  /** The branches that will be ready within `withinMs`, each with its ready instant (`at`). */
  readonly later?: readonly (BranchRef & { readonly at: number })[] | null;
}
export interface DueCall {
  /** Name of the caller's environment. Left out: the database does not compare it. */
  readonly environment?: string;
  readonly versions: ClaimCall["versions"];
  readonly limit: number;
  /**
   * Whether the caller looks at all runs: everything that is ready or blocked counts as due. Left out: yes, if the
   * database does not know the deployment, which then is new.
   */
  readonly isNew?: boolean;
  /** Name of the caller's deployment. Its id comes beside it. */
  readonly deploymentName?: string;
  readonly deployment?: string;
  /** Says that this code declares schedules when it notes that it is deployed, also if it declares none. */
  readonly declares?: true;
  /** How far ahead runs are listed that are not due yet. Default: 0. */
  readonly withinMs?: number;
  /**
   * Runs that are ready are listed as well if they are due by this instant. It is later than now if the clock was set
   * back. Default: now.
   */
  readonly readyUntil?: number;
  readonly after?: { readonly dueAt: number | null; readonly runId: string };
  /** Says that schedules are not to be looked at: they have made the same call fail. */
  readonly withoutSchedules?: true;
}
export interface DueAnswer {
  readonly now: number;
  /** False: the database belongs to another environment, and nothing was looked at. */
  readonly isOurs: boolean;
  /** Whether the caller looks at all runs: everything that is ready or blocked counted as due. */
  readonly isNew: boolean;
  /** Whether the deployment must note that it is deployed. */
  readonly isUnnoted?: boolean;
  /** Whether the deployment must note that it is still there. Null: the database does not know it. */
  readonly isStale?: boolean | null;
  readonly runs: readonly DueRun[];
  /** The earliest due instant to come of all runs, and kept signals, of the namespace. */
  readonly nextDueAt: number | null;
  /** The other deployments that carry what is due and is not carried here, and since when. On the first page; null: there is none. */
  readonly elsewhere?: readonly { readonly address: string; readonly dueAt: number }[] | null;
  /** Signals that deliveries have kept are due. `expiresAt`: when the first of those expires that may stay. Null: none is due. */
  readonly kept?: { readonly expiresAt: number | null } | null;
  /**
   * The first 500 schedules that are due, on the first page. `lookAt`: the instant for which to arm before it is fired. Null:
   * it has no further instant.
   */
  readonly schedules?: readonly DueSchedule[] | null;
}
export interface DueSchedule {
  readonly name: string;
  readonly lookAt: number | null;
}
export interface FireCall {
  readonly environment: string;
  readonly versions: ClaimCall["versions"];
  readonly names: readonly string[];
  /** Asks for the next page of what is due. */
  readonly listsNext?: true;
  /** Names of schedules that this page leaves out. */
  readonly except?: readonly string[];
}
export interface FiredRun {
  readonly runId: string;
  /** Null: it is held, since its workflow is paused. */
  readonly turn: number | null;
  readonly schedule: string;
  readonly at: number;
}
export interface Skip {
  /**
   * `overlap`: a run of it is not over. `missed`: it was too late for one or more instants. `conflict`: the run's id is
   * taken. `refused`: the run could not be started.
   */
  readonly cause: "overlap" | "missed" | "conflict" | "refused";
  /** The instant that was skipped, or the first of several that were missed. */
  readonly at: number;
  readonly runId?: string;
  readonly reason?: string;
}
export interface FireAnswer {
  readonly now: number;
  readonly runs: readonly FiredRun[];
  /** `inRow`: how many firings of the schedule were skipped since it last started a run. */
  readonly skips: readonly { readonly schedule: string; readonly inRow: number; readonly skip: Skip }[];
  /** Those that fire no more, since their timezone is gone. Functions of an earlier release leave it out. */
  readonly stopped?: readonly { readonly schedule: string; readonly reason: string }[];
  /** How many stay due: somebody had locked them, or the call has started so many runs already. */
  readonly left: number;
  /** Names of those that somebody had locked. Functions of an earlier release leave it out. */
  readonly locked?: readonly string[];
  /** The first 500 schedules that are due yet, with `listsNext`. Null: none is. Functions of an earlier release leave it out. */
  readonly next?: readonly DueSchedule[] | null;
}
/** A schedule as it is declared. Its input is stored text, or the code of the run's first turn makes it. */
export interface DeclaredSchedule extends ScheduleDefinition {
  readonly encodedInput?: string;
  /** What tells the same input again, where it is encrypted. */
  readonly sent?: string;
  readonly computesInput?: true;
}
export interface NoteAnswer {
  readonly outcome: "noted" | "wrong_environment";
  /** Whether it may declare its schedules now, with `declaresLater`. Functions of an earlier release leave it out. */
  readonly declares?: boolean;
  /** The declared schedules that were not registered, or that never fire. Null: none was declared, or a newer build declares its own. */
  readonly schedules?: {
    /** Another deployment declares something else under this name. Null: the schedule was made at run time. */
    readonly refused: readonly { readonly name: string; readonly owner: string | null }[];
    readonly invalid: readonly { readonly name: string; readonly reason: string }[];
    /** Their one instant had passed before. Functions of an earlier release leave it out. */
    readonly passed?: readonly { readonly name: string; readonly at: number }[];
  } | null;
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
   * What is noted. `deployed`: it is deployed now, again or for the first time. `declaring`, and at last `declared`: some of the
   * schedules that its code declares, after `deployed` with `declaresLater`. `looked`: since then it has looked at all that is
   * ready or blocked. `seen`: it still ticks. `left`: one of its processes has ended.
   */
  readonly note: "deployed" | "declaring" | "declared" | "looked" | "seen" | "left";
  /** The versions that it carries, with `deployed`. */
  readonly versions?: ClaimCall["versions"];
  /** The address at which other deployments have it tick. Left out: it stays as it was noted. */
  readonly wakeAddress?: string | undefined;
  /** The signatures of their contracts, by workflow and version, with `deployed`. */
  readonly signatures?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** How long runs are kept that are over, in milliseconds, by workflow and outcome, with `deployed`. */
  readonly retention?: Readonly<Record<string, KeepMs>>;
  /**
   * The schedules that its code declares, by name, with `deployed`, or some of them, with `declaring` and `declared`. Null: this one cannot be registered, and stays as it is.
   * Left out: all stay as they are.
   */
  readonly schedules?: Readonly<Record<string, DeclaredSchedule | null>> | undefined;
  /** Whether it declares its schedules by calls of their own, with `deployed`. */
  readonly declaresLater?: boolean;
  /** The names of all schedules that its code declares, with `declared`. */
  readonly names?: readonly string[];
  /** Whether only a process has begun, with `deployed`. If a newer build is there, that one keeps its schedules. */
  readonly isStart?: boolean;
  /** Whether nobody else uses the database, with `deployed`. Then all other deployments are gone. */
  readonly isExclusive?: boolean;
  /** The last blocked run that was tried, where further ones are left. */
  readonly triedThrough?: string | undefined;
}

export interface PruneCall {
  readonly keepMs: number;
  readonly keepFailedMs: number;
  /** What is kept for another time than that. See NoteCall. */
  readonly retention?: NoteCall["retention"];
  readonly limit: number;
}

export interface PruneAnswer {
  readonly pruned: number;
  /** Whether another call would find more to do at once. */
  readonly isMore: boolean;
}

export interface SweepAnswer {
  readonly keys: readonly string[];
  /** Whether another call would find more at once. */
  readonly isMore: boolean;
  /** When there is something to look at again. Null: never. */
  readonly nextAt: number | null;
}

export interface Move {
  readonly runId: string;
  /** The due instant that the scheduler has read. If the run has another one by now, it is left alone. */
  readonly seenDueAt: number | null;
  /** The new due instant, for which an alarm stands. */
  readonly dueAt: number | null;
  /** Whether the run itself is about to be dispatched. */
  readonly isDispatched: boolean;
  /** The turn that is about to be dispatched. If the run has another one by now, it does not count as dispatched. */
  readonly turn?: number;
  /** The branches that are about to be dispatched, each with its turn, which means the same. */
  readonly branches: readonly BranchRef[];
}
export interface MoveCall {
  readonly moves: readonly Move[];
  /** The due instant of runs that were woken after they were listed. An alarm stands for it. */
  readonly soonAt?: number;
  /** Whether the dispatches of these runs are counted anew, from 0. So it is for a new deployment. */
  readonly isNew?: boolean;
  /** Id of the caller's deployment. A run that it has refused does not count as dispatched. */
  readonly deployment?: string | undefined;
  /** Whether runs that somebody has locked are left alone. Otherwise the call waits for them. */
  readonly skipsLocked?: true | undefined;
}
export interface MoveAnswer {
  readonly now: number;
  /** How many runs were left alone, because they were woken after they were listed. */
  readonly left: number;
  /** Ids of the runs that somebody had locked. */
  readonly locked: readonly string[];
}
