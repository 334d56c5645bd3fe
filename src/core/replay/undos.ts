/**
 * The undos of a run: which of its steps can be undone, which of them are owed when the run ends, and how each is carried
 * out. Pure: the same history gives the same list.
 */
import { type ErrorValue, toErrorValue } from "../codec/error-value.ts";
import { fromStored, toStoredError } from "../codec/stored-value.ts";
import { once } from "../contract/retry.ts";
import type { StepContext } from "../contract/step.ts";
import { LayoverError } from "../errors.ts";
import type { Copied } from "./copied.ts";
import { type Demand, type NewRun, placeName, type StepBody, type UndoBody } from "./demand.ts";
import type { HistoryRecord } from "./history.ts";

/** The record `ending`: how the run ends when its undos are done, and what they are, the first one first. */
export interface Ending {
  readonly next: "failed" | "cancelled";
  /** The codec's text of the ErrorValue. */
  readonly error: string;
  readonly owed: readonly OwedUndo[];
}

/** The place of a step that is to be undone. `error`: that of the last attempt of a step without a record, as the codec's text. */
export interface OwedUndo {
  readonly path: string;
  readonly occurrence: number;
  readonly error?: string;
}

/** An undo that failed for good. */
export interface FailedUndo {
  /** The name of the step that is not undone. */
  readonly step: string;
  readonly error: unknown;
}

interface Undoable {
  readonly place: { readonly path: string; readonly occurrence: number };
  readonly ordinal: number;
  readonly undo: UndoBody;
  /** Makes the id of the run that it invokes. */
  readonly runId: NewRun["runId"] | undefined;
  /** The position of its record; half a position after its demand while it has none. */
  position: number;
  record: HistoryRecord | undefined;
  hasBegun: boolean;
  /** The run that it has invoked, if that is there. */
  invoked: string | undefined;
  /** The error of its last attempt, while it has no record, as the codec's text. */
  error: string | undefined;
}

/** A step without a record that may have begun. */
interface Begun {
  readonly path: string;
  readonly occurrence: number;
  readonly runId?: string;
  readonly error?: string;
}

/** The path of an undo is this and the path of its step. No name of a user can form it. */
export const undoPrefix = "[undo]/";

export class Undos {
  readonly #undoables = new Map<string, Undoable>();
  readonly #copied: Copied;

  constructor(copied: Copied) {
    this.#copied = copied;
  }

  /** Notes a step that the handler has asked for. */
  note({ path, occurrence, ordinal, demandedAfter, wanted }: Demand): void {
    if (!("undo" in wanted) || wanted.undo === undefined) return;
    const place = { path, occurrence };
    const { undo } = wanted;
    const runId = wanted.kind === "step" ? undefined : wanted.runId;
    const untold = {
      position: demandedAfter + 0.5,
      record: undefined,
      hasBegun: false,
      invoked: undefined,
      error: undefined,
    };
    this.#undoables.set(placeName(place), { runId, place, ordinal, undo, ...untold });
  }

  /** Notes the record of a step. */
  noteRecord(record: HistoryRecord, position: number): void {
    const place = placeName(record);
    const undoable = this.#undoables.get(place);
    // What a fork has copied belongs to the run that it was copied from.
    const hasNoRun = record.kind === "start"; // it could not be started
    if (this.#copied.holds(position) || hasNoRun) this.#undoables.delete(place);
    else if (undoable !== undefined) Object.assign(undoable, { record, position });
  }

  /**
   * Notes that a step without a record may have begun, or that an invoked run is there: the one of this id. Without an id, the
   * invoked run has ended, and may be deleted. `error`: that of the step's last attempt, as the codec's text.
   */
  noteBegun({ runId, error, ...place }: Begun): void {
    const undoable = this.#undoables.get(placeName(place));
    if (undoable === undefined || (runId !== undefined && !isSameRun(undoable.runId?.(undefined), runId))) return;
    undoable.hasBegun = true;
    undoable.invoked ??= runId;
    if (error !== undefined) undoable.error = briefly(error);
  }

  /** Lists the invoked runs that are there and can be undone, and whose ends the history does not hold. */
  get invoked(): readonly { readonly path: string; readonly occurrence: number; readonly runId: string }[] {
    return [...this.#undoables.values()].flatMap(({ place, record, invoked: runId }) =>
      record === undefined && runId !== undefined ? [{ ...place, runId }] : [],
    );
  }

  /** Whether a step can be undone that has no record, so that only the database knows whether it has begun. */
  get hasUnrecorded(): boolean {
    return [...this.#undoables.values()].some(({ record }) => record === undefined);
  }

  /** Lists what is owed: whatever has succeeded, has failed, or may have begun. What came last is undone first. */
  get owed(): Ending["owed"] {
    return [...this.#undoables.values()]
      .filter(({ record, hasBegun }) => record !== undefined || hasBegun)
      .sort((one, other) => other.position - one.position || other.ordinal - one.ordinal)
      .map(({ place, record, error }) => ({ ...place, ...(record === undefined && error !== undefined && { error }) }));
  }

  /** Asks for one undo after the other, and answers which of them failed. One that fails keeps back no other. */
  async carryOut(
    owed: Ending["owed"],
    ask: (place: Pick<OwedUndo, "path" | "occurrence">, step: StepBody) => Promise<unknown>,
  ): Promise<readonly FailedUndo[]> {
    const failed: FailedUndo[] = [];
    for (const place of owed) {
      try {
        await ask({ path: undoPrefix + place.path, occurrence: place.occurrence }, this.#stepFor(place));
      } catch (error) {
        failed.push({ step: placeName(place), error });
      }
    }
    return failed;
  }

  /** Makes the step that undoes the step of this place. */
  #stepFor({ error, ...place }: OwedUndo): StepBody {
    const known = this.#undoables.get(placeName(place));
    if (known === undefined) return missing(place);
    const { undo, record, position } = known;
    const isTimeout = record?.kind === "child" && record.value === null;
    const isKnown = record !== undefined && !record.isFailure && !isTimeout;
    const about = {
      outcome: isKnown ? ("succeeded" as const) : ("unknown" as const),
      error: isKnown ? undefined : record === undefined ? attemptError(error) : errorOf(record),
      recordedAt: record === undefined ? undefined : position,
    };
    const body = (context: StepContext) => {
      const result =
        isKnown && record.value !== null ? fromStored(record.value, `the result of ${placeName(place)}`) : undefined;
      return undo.run(result, context, about);
    };
    return { kind: "step", body, retry: undo.retry, timeoutMs: undo.timeoutMs };
  }
}

/** Makes the error that the record `ending` keeps: there may be thousands. Undefined: it cannot be decoded. */
function briefly(stored: string): string | undefined {
  const error = attemptError(stored);
  if (error === undefined) return undefined;
  const { name, message, code } = error;
  return toStoredError({ name, message: message.slice(0, 200).toWellFormed(), ...(code !== undefined && { code }) });
}

/** Reads the error of an attempt. Undefined: it is not known, or cannot be decoded. */
function attemptError(stored: string | undefined): ErrorValue | undefined {
  try {
    return stored === undefined ? undefined : toErrorValue(fromStored(stored, "the error of an attempt"));
  } catch {
    return undefined;
  }
}

/** A retry asks for the run that is there. The id of its demand differs in the time, which comes first. */
function isSameRun(one: string | undefined, other: string | undefined): boolean {
  return one?.slice(-21) === other?.slice(-21);
}

function errorOf({ value, path }: HistoryRecord): ErrorValue | undefined {
  return value === null ? undefined : toErrorValue(fromStored(value, `the record of ${path}`));
}

/** Fails at once: the code that is deployed now does not ask for this step, or gives it no undo. */
function missing(place: { readonly path: string; readonly occurrence: number }): StepBody {
  const body = () => {
    const message = `the code that is deployed has no undo for ${placeName(place)}`;
    throw new LayoverError("compensation_missing", message, {
      hint: "Undo it by hand: nothing tries this undo again.",
      details: { path: place.path },
    });
  };
  return { kind: "step", body, retry: once, timeoutMs: 60_000 };
}

/** The pauses double from 1 s to 10 minutes, for 24 hours: a provider's outage is longer than ten quick attempts. */
export const undoRetry = { maxAttempts: 154, delayMs: 1_000, backoff: 2, maxDelayMs: 600_000, jitter: false };

export function readEnding(value: string | null): Ending {
  return JSON.parse(value ?? "") as Ending; // as `writeEnding` wrote it
}

export function writeEnding(ending: Ending): string {
  return JSON.stringify(ending);
}
