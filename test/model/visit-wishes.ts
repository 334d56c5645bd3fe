/** What is wished for of people and their programs: starts, signals, answers, operations. */

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
