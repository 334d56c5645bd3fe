/**
 * What the random commands wish for. Each is made concrete by the state in which it is carried out ("the third lease
 * that stands"), so that leaving one out of a sequence leaves the others meaningful: sequences shrink well.
 */

export interface StartWish {
  readonly kind: "start";
  readonly run: number;
  readonly userId: string | undefined;
  readonly input: string;
  readonly isCarried: boolean;
  readonly delayMs: number;
  readonly timeoutMs: number | undefined;
  /** The signal that comes with it, to whichever run has the id. */
  readonly signal: Pick<SignalWish, "name" | "dedupeId" | "isRepeat"> | undefined;
  /** Whether the run's id is of a time more than a day ahead. */
  readonly isAhead: boolean;
  readonly isElsewhere: boolean;
  readonly isBare: boolean;
  readonly isLate: boolean;
}
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
  /** How a handler that fails goes on, if steps are to be undone. */
  readonly owes: "closing" | "ending" | undefined;
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
export interface TurnWish {
  readonly kind: "turn";
  readonly index: number;
  /** What happens while its body runs. */
  readonly meanwhile: readonly Wish[];
  readonly finish: FinishItem;
}
/** One call claims all that may be claimed, and one call finishes all that is held. */
export interface BatchWish {
  readonly kind: "batch";
  /** Whether all runs are started before. */
  readonly starts: boolean;
  readonly budgetBytes: number | undefined;
  /** What happens while the bodies run. */
  readonly meanwhile: readonly Wish[];
  /** How the claimed turns are finished, each by the next of these. After the last one the first one comes again. */
  readonly finishes: readonly FinishItem[];
}
/** Processes that die one after the other over the same turn. */
export interface CrashWish {
  readonly kind: "crash";
  readonly index: number;
  readonly times: number;
}
export interface SignalWish {
  readonly kind: "signal";
  readonly run: number;
  /** Whether the signal has a name that the run waits for. */
  readonly isAwaited: boolean;
  readonly name: string;
  readonly dedupeId: string | undefined;
  readonly isRepeat: boolean;
  readonly byUserId: boolean;
  readonly isElsewhere: boolean;
  readonly isBare: boolean;
  readonly isLate: boolean;
}
/** So many signals have come that hardly any more is kept. */
export interface FloodWish {
  readonly kind: "flood";
  readonly run: number;
  readonly ofWhat: "signals" | "bytes";
  /** How many more signals are kept. */
  readonly room: 0 | 1;
}
export interface AnswerWish {
  readonly kind: "answer";
  readonly run: number;
  readonly which: "waiting" | "next" | "answered";
  readonly index: number;
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  readonly isOtherEpoch: boolean;
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
export interface HolderItem {
  /** Which leases to pick from: those that stand, any that ever stood, or those that another claim has followed. */
  readonly of: "standing" | "any" | "replaced";
  readonly index: number;
}
export interface RenewWish {
  readonly kind: "renew";
  readonly items: readonly (HolderItem & {
    /**
     * How many beginnings in a row there were with this one, if the turn goes alone and begins. Undefined: it does
     * not.
     */
    readonly beginnings: number | undefined;
    /** The attempt that is about to begin, of a step that runs at most once. Undefined: none is. */
    readonly begins: string | undefined;
    /** What the run says of itself. Undefined: nothing new. */
    readonly says: string | undefined;
  })[];
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
export interface ReturnWish {
  readonly kind: "return";
  readonly items: readonly HolderItem[];
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
/** A page of a history that continues what a claim has answered. */
export interface PageWish extends HolderItem {
  readonly kind: "page";
  /** How many ninths of the records come before the page. */
  readonly after: number;
  readonly budgetBytes: number;
  readonly isOtherEpoch: boolean;
  readonly isElsewhere: boolean;
}
export interface ListWish {
  readonly kind: "list";
  readonly by: By;
  readonly isElsewhere: boolean;
  readonly isNew: boolean;
  readonly withinMs: number;
  /** The distance by which the clock was set back, as far as the caller knows. */
  readonly readyWithinMs: number;
  readonly carries: "all" | "some";
  readonly limit: number;
  readonly isNextPage: boolean;
}
export interface MoveWish {
  readonly kind: "move";
  readonly by: By;
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
export interface AdvanceWish {
  readonly kind: "advance";
  /** Milliseconds that pass. Undefined: time goes on to the next instant that means something, moved by `offset`. */
  readonly ms: number | undefined;
  readonly offset: number;
}
/** What a person does to a run. */
export interface OperateWish {
  readonly kind: "operate";
  readonly verb: "pause" | "resume" | "cancel" | "terminate" | "delete";
  /** Whether it is asked of all runs that are not over, at once. */
  readonly isOfMany: boolean;
  /** Whether their workflow is paused or resumed, and they with it: the workflow alone, they alone, or both. */
  readonly ofWorkflow: "no" | "alone" | "runs" | "both";
  readonly run: number;
  /** Whether a run is chosen to which the verb applies, if there is one. */
  readonly isFitting: boolean;
  /** Whether the last such call is sent again. */
  readonly isRepeat: boolean;
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
/** A person moves a run to another version of its workflow, as it was looked at. */
export interface UpgradeWish {
  readonly kind: "upgrade";
  readonly run: number;
  /** Whether a run is chosen that nobody works at, if there is one. */
  readonly isFitting: boolean;
  readonly to: number;
  /** What the caller has seen wrongly. */
  readonly sawOther: "from" | "epoch" | "turn" | "position" | "lastMail" | undefined;
  /** What happens between the look and the move. */
  readonly meanwhile: readonly Wish[];
  /** Whether the last such call is sent again. */
  readonly isRepeat: boolean;
  readonly isElsewhere: boolean;
  readonly isBare: boolean;
  readonly isLate: boolean;
}
export interface PlainWish {
  readonly kind: "void" | "prune";
  readonly isElsewhere: boolean;
}
/** Time goes on to the next due instant, where an alarm rings. */
export interface AlarmWish {
  readonly kind: "alarm";
}
/** What a deployment tells of itself. */
export interface NoteWish {
  readonly kind: "note";
  readonly by: "one" | "two" | "three";
  readonly name: string;
  readonly note: "deployed" | "seen" | "left";
  readonly carries: "all" | "some";
  readonly isElsewhere: boolean;
  readonly isLate: boolean;
}
export interface TickWish {
  readonly kind: "tick";
  readonly by: By;
  /** Whether an alarm rang for the tick. False: it is a sweep. */
  readonly isAlarmed: boolean;
  readonly isElsewhere: boolean;
  /** What happens between the tick's look and its move. */
  readonly meanwhile: readonly Wish[];
}
/** A wish that is made of others. */
export type ComposedWish = TurnWish | BatchWish | UpgradeWish | TickWish;

export type SingleWish =
  | StartWish
  | ClaimWish
  | FinishWish
  | CrashWish
  | SignalWish
  | AnswerWish
  | FloodWish
  | RenewWish
  | ReturnWish
  | PageWish
  | ListWish
  | MoveWish
  | AdvanceWish
  | OperateWish
  | AlarmWish
  | NoteWish
  | PlainWish;

export type Wish = ComposedWish | SingleWish;
