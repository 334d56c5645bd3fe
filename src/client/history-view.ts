/** A run's timeline as `history` shows it: what is recorded, what failed on the way, what it waits for. */
import type { ErrorValue } from "../core/error-value.ts";
import type { PendingKind, RecordKind, WireHistory } from "../postgres/wire.ts";
import { dateOf } from "./run-view.ts";
import { readable, readableError } from "./unreadable.ts";

/** Where in the run: scopes and name (`ship[3]/send`), and which of several of that name, from 0. */
export interface StepPlace {
  readonly path: string;
  readonly occurrence: number;
}

export interface RecordView extends StepPlace {
  /** Counted from 1, without gaps. */
  readonly position: number;
  readonly kind: RecordKind;
  /** How many attempts a step took. */
  readonly attempts: number;
  /** Whether `value` is an error, an ErrorValue. */
  readonly isFailure: boolean;
  /** May be Unreadable. Undefined for a sleep, and for a wait that timed out. */
  readonly value: unknown;
  readonly beganAt: Date | undefined;
  readonly recordedAt: Date;
}

/** An attempt that failed. (The one that succeeded is the record.) */
export interface AttemptView extends StepPlace {
  readonly number: number;
  readonly beganAt: Date;
  readonly endedAt: Date;
  readonly error: ErrorValue | undefined;
  /** The platform's own id of the invocation, to find its logs. */
  readonly requestId: string | undefined;
}

export interface PendingView extends StepPlace {
  readonly kind: PendingKind;
  /** The name of the signal that it waits for. */
  readonly signal: string | undefined;
  /** The end of a sleep, the deadline of a wait. */
  readonly until: Date | undefined;
  readonly readyAt: Date | undefined;
  readonly leasedUntil: Date | undefined;
  /** That failed. */
  readonly attempts: number;
  /** Waits for one of its map's slots. */
  readonly isQueued: boolean;
}

export interface HistoryView {
  readonly runId: string;
  readonly records: readonly RecordView[];
  readonly attempts: readonly AttemptView[];
  readonly pending: readonly PendingView[];
}

export function historyView({ runId, records, attempts, pending }: WireHistory): HistoryView {
  return {
    runId,
    records: records.map((record) => ({
      ...record,
      value: record.isFailure ? readableError(record.value) : readable(record.value),
      beganAt: dateOf(record.beganAt),
      recordedAt: new Date(record.recordedAt),
    })),
    attempts: attempts.map((attempt) => ({
      ...attempt,
      beganAt: new Date(attempt.beganAt),
      endedAt: new Date(attempt.endedAt),
      error: readableError(attempt.error),
      requestId: attempt.requestId ?? undefined,
    })),
    pending: pending.map((wait) => ({
      ...wait,
      signal: wait.signal ?? undefined,
      until: dateOf(wait.until),
      readyAt: dateOf(wait.readyAt),
      leasedUntil: dateOf(wait.leasedUntil),
    })),
  };
}
