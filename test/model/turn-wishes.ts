/** What is wished for of those who claim and finish turns. */

export interface ClaimItem {
  readonly of: "claimable" | "run" | "branch";
  readonly index: number;
  readonly turn: "right" | "stale" | "future";
  readonly alone: "as needed" | "always" | "never" | "sixteen";
  readonly token: "fresh" | "again";
  readonly have:
    | "nothing"
    | "all"
    | "a part"
    | "more than there is"
    | "another epoch"
    | "all, told"
    | "another version";
}
/** Id of a deployment. Undefined: its release gives none. */
export type By = "one" | "two" | "three" | undefined;
export interface ClaimWish {
  readonly kind: "claim";
  readonly by: By;
  readonly items: readonly ClaimItem[];
  readonly isElsewhere: boolean;
  readonly carries: "all" | "some" | "nothing";
  readonly environment: "ours" | "another";
  /** Whether a turn that was claimed alone is begun. */
  readonly begins: boolean;
  readonly budgetBytes: number | undefined;
  readonly isLate: boolean;
}
export type DemandWish =
  | { readonly what: "branch" }
  | { readonly what: "sleep"; readonly ms: number }
  | { readonly what: "cleanup"; readonly ms: number | undefined }
  | { readonly what: "signal"; readonly name: string; readonly ms: number | undefined }
  | { readonly what: "callback"; readonly ms: number | undefined }
  | {
      readonly what: "map";
      readonly items: number;
      readonly slots: number | null;
      readonly failsFast: boolean;
      readonly isOfRaces: boolean;
    }
  | { readonly what: "more of a map"; readonly index: number }
  | { readonly what: "race"; readonly branches: number; readonly ms: number | undefined }
  | { readonly what: "again"; readonly index: number };
export interface FinishItem {
  /** Which leases to pick from: those that stand, or any that ever stood. */
  readonly of: "standing" | "any";
  readonly index: number;
  readonly isRepeat: boolean;
  /** How many of the things it takes that came for its waits. */
  readonly takes: number;
  /** Things that it asks for and gets within the turn. */
  readonly asides: readonly ("sleep" | "red" | "blue" | "callback" | "late callback")[];
  readonly step: "success" | "failure" | "retry soon" | "retry late";
  readonly retryMs: number;
  readonly next: "park" | "go on" | "complete" | "fail" | "block" | "set back";
  /** Deployment whose code blocks the run. */
  readonly by: By;
  readonly demands: readonly DemandWish[];
  /** Whether it demands before the turn's own records. */
  readonly isEarly: boolean;
  readonly releases: boolean;
  readonly sawLess: boolean;
  readonly chains: boolean;
  readonly isSpoilt: boolean;
  /** How a run that fails goes on: steps are to be undone, or its history is full, and it cleans up. */
  readonly owes: "closing" | "ending" | "cleaning" | undefined;
  /** The name of a signal that it takes no more. */
  readonly closes: "red" | "blue" | undefined;
  /** Whether the run says something of itself. */
  readonly says: boolean;
  /** Whether the step that failed was the announcement of a callback of the run. */
  readonly announces: boolean;
}
export interface FinishWish {
  readonly kind: "finish";
  readonly items: readonly FinishItem[];
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
/** Processes that die one after the other over the same turn. */
export interface CrashWish {
  readonly kind: "crash";
  readonly index: number;
  readonly times: number;
}
