/**
 * A demand: what a handler asks for at a place and waits for until a record of the history settles it.
 */

import type { ResolvedRetry } from "../contract/retry.ts";
import type { Startable } from "../contract/startable.ts";
import type { StepContext, UndoContext } from "../contract/step.ts";
import type { TransactionClient } from "../ports.ts";

/** The place of a callback, and the epoch of its URL. Undefined: that of the run. */
export interface CallbackPlace {
  readonly path: string;
  readonly occurrence: number;
  readonly epoch?: number | undefined;
}

/** What bounds and joins the branches of one `map`. */
export interface MapScope {
  readonly path: string;
  readonly slots: number | null;
  readonly failsFast: boolean;
}

/** How a step is undone. */
export interface UndoBody {
  /** `recordedAt`: the position of the step's record, if it has one. */
  readonly run: (
    result: unknown,
    context: StepContext,
    about: Pick<UndoContext, "outcome" | "error"> & { readonly recordedAt: number | undefined },
  ) => unknown;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number;
}

export interface StepBody {
  readonly kind: "step";
  readonly body: (context: StepContext, transaction?: TransactionClient) => unknown;
  /** Whether its body writes in a transaction, which is committed with its record. */
  readonly isTransaction?: boolean;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number;
  /** Whether an attempt is written down before its body begins, and is never carried out again. */
  readonly isAtMostOnce?: boolean;
  /** Whether nobody is shown the result. */
  readonly isSensitive?: boolean;
  /** The callback that it announces. */
  readonly announces?: CallbackPlace | undefined;
  readonly undo?: UndoBody | undefined;
}
/** Closes the name of a signal, unless such a signal is there already. */
export interface Close {
  readonly kind: "close";
  readonly name: string;
}
export interface Sleep {
  readonly kind: "sleep";
  /** Epoch milliseconds of the database's clock. */
  readonly until: number;
  /** Whether the handler has named this instant. Then no repair of the run puts it off. */
  readonly isNamed?: boolean;
}
export interface Wait {
  readonly kind: "signal" | "callback";
  /** The name of the signal or callback in the contract. */
  readonly name: string;
  readonly until: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly onTimeout: "throw" | "null";
  /** The epoch of a callback's URL. Undefined: that of the run. */
  readonly epoch?: number | undefined;
}
/** A run that is started from this one: `child` if this one waits for its end, `start` if it does not. */
export interface NewRun {
  readonly kind: "child" | "start";
  /** The name of its place, as the handler gives it. */
  readonly name: string;
  readonly contract: Startable;
  readonly input: unknown;
  /** Makes its id of the parent's history and this place: the same in each replay. `recordedAt`: see `keySeed`. */
  readonly runId: (recordedAt: number | undefined) => string;
  /** The user's own id of it. */
  readonly id: string | undefined;
  readonly tags: Readonly<Record<string, string>> | undefined;
  readonly until: number | undefined;
  readonly timeoutMs: number | undefined;
  /** Whether it is cancelled when this run waits for it no more. */
  readonly isBound: boolean;
  readonly undo?: UndoBody | undefined;
}
/** Ends this history of the run, and begins the next one. It never settles. */
export interface ContinueAsNew {
  readonly kind: "continueAsNew";
  /** The codec's text of the input of the next one. */
  readonly input: string;
}
export type Wanted = StepBody | Sleep | Wait | Close | NewRun | ContinueAsNew;

export interface Demand {
  readonly path: string;
  readonly occurrence: number;
  /** Order of demand within the run. */
  readonly ordinal: number;
  /** The last position handed out when it was demanded, and the time of that record (of none: of the run's beginning). */
  readonly demandedAfter: number;
  readonly demandedAt: number;
  readonly map: MapScope | undefined;
  /** Whether it was asked for in `step.cleanup`. Then it outlives the run's cancel. */
  readonly isShielded: boolean;
  readonly wanted: Wanted;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function isWait(wanted: Wanted): wanted is Wait {
  return wanted.kind === "signal" || wanted.kind === "callback";
}

/** Names a place as people see it: `ship[3]/send`, and its occurrence from the second on. */
export function placeName(place: { readonly path: string; readonly occurrence: number }): string {
  return place.occurrence === 1 ? place.path : `${place.path}#${place.occurrence}`;
}

/** Reads what `placeName` wrote. No name holds these characters. */
export function placeIn(text: string): { readonly path: string; readonly occurrence: number } {
  const [, path = text, occurrence = "1"] = /^(.*)#(\d{1,9})$/.exec(text) ?? [];
  return { path, occurrence: Number(occurrence) };
}

/** Names one attempt of a step. The next attempt has another name, and so has every other step of the run. */
export function attemptName(place: { readonly path: string; readonly occurrence: number }, number: number): string {
  return `${number} ${placeName(place)}`;
}
