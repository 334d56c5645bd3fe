/**
 * A demand: what a handler asks for at a place and waits for until a record of the history settles it.
 */
import type { ResolvedRetry } from "../contract/retry.ts";
import type { StepContext, Undo } from "../contract/step.ts";

/** What bounds and joins the branches of one `map`. */
export interface MapScope {
  readonly path: string;
  readonly slots: number | null;
  readonly failsFast: boolean;
}

/** How a step is undone. */
export interface UndoBody {
  readonly run: Undo<unknown>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number;
  /** What the step's body is given. */
  readonly original: { readonly idempotencyKey: string };
}

export interface StepBody {
  readonly kind: "step";
  readonly body: (context: StepContext) => unknown;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number;
  /** Whether an attempt is written down before its body begins, and is never carried out again. */
  readonly isAtMostOnce?: boolean;
  /** The callback that it announces. */
  readonly announces?: { readonly path: string; readonly occurrence: number } | undefined;
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
}
export interface Wait {
  readonly kind: "signal" | "callback";
  /** The name of the signal or callback in the contract. */
  readonly name: string;
  readonly until: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly onTimeout: "throw" | "null";
}
export type Wanted = StepBody | Sleep | Wait | Close;

export interface Demand {
  readonly path: string;
  readonly occurrence: number;
  /** Order of demand within the run. */
  readonly ordinal: number;
  /** The last position handed out when it was demanded. */
  readonly demandedAfter: number;
  readonly map: MapScope | undefined;
  /** Whether it was asked for in `step.cleanup`. Then it outlives the run's cancel. */
  readonly isShielded: boolean;
  readonly wanted: Wanted;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Names a place as people see it: `ship[3]/send`, and its occurrence from the second on. */
export function placeName(place: { readonly path: string; readonly occurrence: number }): string {
  return place.occurrence === 1 ? place.path : `${place.path}#${place.occurrence}`;
}

/** Names one attempt of a step. The next attempt has another name, and so has every other step of the run. */
export function attemptName(place: { readonly path: string; readonly occurrence: number }, number: number): string {
  return `${number} ${placeName(place)}`;
}
