/** A run's timeline as `history` shows it: what is recorded, what failed on the way, what it waits for. */
import type { ErrorValue } from "../core/codec/error-value.ts";
import { CancelledError } from "../core/contract/user-errors.ts";
import { LayoverError } from "../core/errors.ts";
import type { PendingKind, RecordKind } from "../postgres/wire.ts";
import type { WireHistory } from "../postgres/wire-verbs.ts";
import { checkLimit } from "./page-limit.ts";
import { dateOf } from "./run-view.ts";
import { readable, readableError } from "./unreadable.ts";

/** The place in the run: scopes and name (`ship[3]/send`), and its number among those of the same name, from 1. */
export interface StepPlace {
  readonly path: string;
  readonly occurrence: number;
}

/** What was recorded: the result of a step, a sleep that ended, a signal that was taken … */
export interface RecordView extends StepPlace {
  /** Counted from 1, without gaps. */
  readonly position: number;
  readonly kind: RecordKind;
  /** How many attempts a step took. */
  readonly attempts: number;
  /** Whether `value` is an error, an ErrorValue. */
  readonly isFailure: boolean;
  /** Whether it is a wait that timed out. */
  readonly hasTimedOut: boolean;
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

/** What the run waits for: a step to carry out or to try again, the end of a sleep, a signal, a callback. */
export interface PendingView extends StepPlace {
  readonly kind: PendingKind;
  /** The name of the signal that it waits for. */
  readonly signal: string | undefined;
  /** The end of a sleep, the deadline of a wait. */
  readonly until: Date | undefined;
  readonly readyAt: Date | undefined;
  readonly leasedUntil: Date | undefined;
  /** How many attempts have failed. */
  readonly attempts: number;
  /** How many attempts in a row ended without a result because their process died. */
  readonly interrupted: number;
  /** Whether it waits for one of the slots of its map. */
  readonly isQueued: boolean;
}

/** An act of a person on the run. */
export interface OperationView {
  readonly callId: string;
  /** The verb: `pause`, `resume`. */
  readonly verb: string;
  /** The name that the person gave. */
  readonly by: string | undefined;
  readonly reason: string | undefined;
  readonly at: Date;
  /** The outcome of the act, such as `paused` or `not_applicable`. */
  readonly verdict: string;
}

/** Which page of a history. */
export interface HistoryOptions {
  /** The records after this position: the `next` of the page before. Default: 0, from the first. */
  readonly after?: number | undefined;
  /** How many records, up to 1,000. Default: 100. */
  readonly limit?: number | undefined;
}

/** A run's timeline, as it was when it was asked for. */
export interface HistoryView {
  readonly runId: string;
  /** One page of the records, in the order of their positions. */
  readonly records: readonly RecordView[];
  /** Where the next page goes on (its `after`), if there are further records. */
  readonly next: number | undefined;
  /** The latest failed attempts, the same on every page: as many as have 2 MB of errors together, nearly always all. */
  readonly attempts: readonly AttemptView[];
  /** How many attempts have failed in all. */
  readonly attemptCount: number;
  /** All of them, on every page. */
  readonly pending: readonly PendingView[];
  /** The last 100 operations, the same on every page. */
  readonly operations: readonly OperationView[];
}

/** How many records a page has by default. All records together are at most 16 MiB, the limit of a history. */
const usualRecords = 100;
const mostRecords = 1_000;
const lastPosition = 1_000_000_000;

interface HistoryPage {
  readonly after: number;
  /** One record more than the page has, to know whether there is a next one. */
  readonly limit: number;
}

/** @throws LayoverError `invalid_request` */
export function historyPage({ after = 0, limit = usualRecords }: HistoryOptions): HistoryPage {
  if (Number.isInteger(after) && after >= 0 && after <= lastPosition) {
    return { after, limit: checkLimit(limit, mostRecords) + 1 };
  }
  throw new LayoverError("invalid_request", `after: ${String(after)} is not the position of a record`, {
    hint: "Give the `next` of the page before as it is, or none for the first page.",
    details: { field: "after" },
  });
}

/** The end of a run is recorded with the bare reason. It is shown as the error that the handler gets. */
function recordedValue({ kind, isFailure, value }: WireHistory["records"][number]): unknown {
  if (kind === "closing" || kind === "cancellation") {
    const { name, message } = new CancelledError(value ?? undefined);
    return { name, message };
  }
  return isFailure ? readableError(value) : readable(value);
}

export function historyView(wire: WireHistory, { limit }: HistoryPage): HistoryView {
  const { runId, records, attempts, attemptCount, pending, operations = [] } = wire;
  const page = records.slice(0, limit - 1);
  return {
    runId,
    attemptCount,
    next: records.length === limit ? page.at(-1)?.position : undefined,
    records: page.map((record) => ({
      ...record,
      hasTimedOut: record.value === null && (record.kind === "signal" || record.kind === "callback"),
      value: recordedValue(record),
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
    pending: pending.map(({ lost, ...wait }) => ({
      ...wait,
      interrupted: lost ?? 0,
      signal: wait.signal ?? undefined,
      until: dateOf(wait.until),
      readyAt: dateOf(wait.readyAt),
      leasedUntil: dateOf(wait.leasedUntil),
    })),
    operations: operations.map(({ by, reason, askedAt, ...operation }) => ({
      ...operation,
      by: by ?? undefined,
      reason: reason ?? undefined,
      at: new Date(askedAt),
    })),
  };
}
