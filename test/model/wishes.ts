/**
 * What the random commands wish for. Each is made concrete by the state in which it is carried out ("the third lease
 * that stands"), so that leaving one out of a sequence leaves the others meaningful: sequences shrink well.
 */
import type { By, ClaimWish, CrashWish, FinishItem, FinishWish } from "./turn-wishes.ts";
import type { AnswerWish, FloodWish, OperateWish, SignalWish, StartWish } from "./visit-wishes.ts";

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
