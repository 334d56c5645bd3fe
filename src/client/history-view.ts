/** A run's timeline as `history` shows it: what is recorded, what failed on the way, what it waits for. */
import type { ErrorValue } from "../core/codec/error-value.ts";
import { CancelledError } from "../core/contract/user-errors.ts";
import { readEnding } from "../core/replay/undos.ts";
import type { PendingKind, RecordKind } from "../postgres/wire.ts";
import type { WireHistory } from "../postgres/wire-views.ts";
import { checkEpoch } from "./epoch-number.ts";
import { checkLimit } from "./page-limit.ts";
import { dateOf } from "./run-view.ts";
import { readable, readableError, Unreadable } from "./unreadable.ts";
import { checkWhole } from "./whole-number.ts";

/**
 * The place in the run: scopes and name (`ship[3]/send`), and its number among those of the same name, from 1. The undo
 * of a step stands at `[undo]/` and the step's path.
 */
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
  /** Whether a person gave the result, by `retry({ results })`, and no attempt of the step did. */
  readonly isGiven: boolean;
  /** The name of the person who gave the result. Undefined: nobody gave it, or the retry named nobody. */
  readonly givenBy: string | undefined;
  /** Whether it is a wait that timed out. */
  readonly hasTimedOut: boolean;
  /**
   * May be Unreadable. Undefined for a sleep, and for a wait that timed out. Of a `closing` or a `cancellation`: the error
   * that the handler gets, unless it has thrown by itself. Of an `ending`: an EndingValue.
   */
  readonly value: unknown;
  /** Our id of the run that was started there, if it is there still and one of the last 1,000. */
  readonly childRunId: string | undefined;
  readonly beganAt: Date | undefined;
  readonly recordedAt: Date;
}

/** How a run ends once it is undone: the value of its record `ending`. */
export interface EndingValue {
  readonly next: "failed" | "cancelled";
  readonly error: ErrorValue | undefined;
  /** The steps that are to be undone, the first one first. `error`: that of the last attempt of a step that has no record. */
  readonly owed: readonly (StepPlace & { readonly error?: ErrorValue | undefined })[];
}

/**
 * An attempt that failed. (The one that succeeded is the record.) The error's code is `interrupted` if nobody knows how it
 * ended.
 */
export interface AttemptView extends StepPlace {
  readonly number: number;
  readonly beganAt: Date;
  readonly endedAt: Date;
  readonly error: ErrorValue | undefined;
  /** The platform's own id of the invocation, to find its logs. */
  readonly requestId: string | undefined;
}

/** What the run waits for: a step to carry out or to try again, the end of a sleep, a signal, a callback, the end of another run. */
export interface PendingView extends StepPlace {
  readonly kind: PendingKind;
  /** The name of the signal that it waits for. */
  readonly signal: string | undefined;
  /** Our id of the run for whose end it waits. */
  readonly childRunId: string | undefined;
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
  /** The earlier epoch in which a callback's URL was made. Left out: it is the newest one. */
  readonly epoch?: number;
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

/** One history of a run after its first: the run continued as new, or somebody repaired it. */
export interface EpochView {
  /** Counted from 1. The first history of a run is its epoch 0. */
  readonly epoch: number;
  readonly why: "continued" | "restarted" | "retried" | "forked";
  readonly beganAt: Date;
  /** How many records of the epoch before it began with. */
  readonly kept: number;
}

/** Which page of a history. */
export interface HistoryOptions {
  /** The records after this position: the `next` of the page before. Default: 0, from the first. */
  readonly after?: number | undefined;
  /** How many records, up to 1,000. Default: 100. */
  readonly limit?: number | undefined;
  /** The history of an earlier epoch. Default: of the newest one. */
  readonly epoch?: number | undefined;
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
  /** The epoch whose records these are. */
  readonly epoch: number;
  /** The last hundred epochs after the first one, the same on every page. Of those that continued as new two are kept. */
  readonly epochs: readonly EpochView[];
}

/** How many records a page has by default. All records together are at most 16 MiB, the limit of a history. */
const usualRecords = 100;
const mostRecords = 1_000;
const lastPosition = 1_000_000_000;

interface HistoryPage {
  readonly after: number;
  /** One record more than the page has, to know whether there is a next one. */
  readonly limit: number;
  readonly epoch?: number;
}

/** @throws LayoverError `invalid_request` */
export function historyPage({ after = 0, limit = usualRecords, epoch }: HistoryOptions): HistoryPage {
  const hint = "Give the `next` of the page before as it is, or none for the first page.";
  checkWhole("after", after, hint, [0, lastPosition]);
  return { after, limit: checkLimit(limit, mostRecords) + 1, ...checkEpoch(epoch) };
}

function recordedValue({ kind, isFailure, value }: WireHistory["records"][number]): unknown {
  if (isClose(kind)) {
    const { name, message } = new CancelledError(value ?? undefined);
    return { name, message };
  }
  if (kind === "ending") return endingValue(value);
  return isFailure ? readableError(value) : readable(value);
}

/** Whether the record says that the run closes. Its value is the bare reason. Its attempts are for the engine. */
function isClose(kind: RecordKind): boolean {
  return kind === "closing" || kind === "cancellation";
}

function endingValue(value: string | null): EndingValue | Unreadable {
  try {
    const { next, error, owed } = readEnding(value);
    const told = owed.map(({ error: last, ...place }) =>
      last === undefined ? place : { ...place, error: readableError(last) },
    );
    return { next, error: readableError(error), owed: told };
  } catch (error) {
    return new Unreadable(error instanceof Error ? error.message : String(error));
  }
}

/** Finds the run that was started at the place of a record. A repair may have started another one there later. */
function childOf(record: WireHistory["records"][number], { children = [] }: WireHistory): string | undefined {
  if (record.kind !== "child" && record.kind !== "start") return undefined;
  return children.findLast(
    ({ path, occurrence, createdAt }) =>
      path === record.path && occurrence === record.occurrence && createdAt <= record.recordedAt,
  )?.runId;
}

export function historyView(wire: WireHistory, { limit }: HistoryPage): HistoryView {
  const { runId, records, attempts, attemptCount, pending, operations = [], epoch = 0, epochs = [], given } = wire;
  const page = records.slice(0, limit - 1);
  return {
    runId,
    attemptCount,
    epoch,
    epochs: epochs.map(({ beganAt, ...one }) => ({ ...one, beganAt: new Date(beganAt) })),
    next: records.length === limit ? page.at(-1)?.position : undefined,
    records: page.map((record) => ({
      ...record,
      attempts: isClose(record.kind) ? 1 : record.attempts,
      isGiven: given?.[record.position] !== undefined,
      givenBy: given?.[record.position] ?? undefined,
      hasTimedOut: record.value === null && ["signal", "callback", "child"].includes(record.kind),
      value: recordedValue(record),
      childRunId: childOf(record, wire),
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
    pending: pending.map(({ lost, epoch: madeIn, ...wait }) => ({
      ...wait,
      ...(madeIn !== undefined && madeIn !== epoch && wait.kind === "callback" && { epoch: madeIn }),
      interrupted: lost ?? 0,
      signal: wait.signal ?? undefined,
      childRunId: wait.childRunId ?? undefined,
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
