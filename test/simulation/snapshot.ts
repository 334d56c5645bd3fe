/** What the database holds at a moment: all that the rules of a world look at, in one answer. */
import { readFileSync } from "node:fs";

export interface Snapshot {
  /** How many rows belong to runs that are not there. */
  readonly orphans: number;
  /** How many runs have no state. */
  readonly bare: number;
  readonly runs: readonly RunRows[];
  /** Signals that deliveries have kept for runs that were not there. */
  readonly kept: readonly KeptRow[];
}

export interface KeptRow {
  /** The run's id of its user, for which it is kept. */
  readonly key: string;
  readonly delivery: string;
  readonly due: number;
}

/** A lease, and the one that was finished last. Times are epoch milliseconds. */
export interface Leased {
  readonly turn: number;
  readonly token: string | null;
  readonly finishedToken: string | null;
  readonly leasedUntil: number | null;
}

export interface RunRows extends Leased {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: "parked" | "running" | "completed" | "failed" | "cancelled";
  readonly epoch: number;
  /** How many of its records were copied from the run that it is a fork of. */
  readonly copied: number;
  readonly timeoutAt: number | null;
  readonly pausedAt: number | null;
  readonly isPaused: boolean;
  /** Whether it is paused or blocked. */
  readonly isStopped: boolean;
  readonly blocked: string | null;
  readonly readyAt: number | null;
  /**
   * The instant from which the next claim writes that it closes: by its timeout, its cancel, or the end of its cleanups' hour.
   * Null: never, or all of that stands in its history already.
   */
  readonly stopsAt: number | null;
  /** Whether somebody has cancelled it. */
  readonly isCancelling: boolean;
  /** How many records say so: the first one tells the handler, a second one ends the cleanups. */
  readonly closings: number;
  readonly due: number | null;
  readonly claimableAt: number | null;
  /** Whether the run, or a branch of it, lost several leases, so that it goes in a small group. */
  readonly isSuspect: boolean;
  readonly dispatches: number;
  readonly lastPosition: number;
  readonly handedPosition: number;
  readonly hasPending: boolean;
  readonly hasMail: boolean;
  /** The names of signals that it takes no more. */
  readonly closed: readonly string[];
  /** The codec's text of the result or error. */
  readonly end: string | null;
  /** The codec's text of what it says of itself. */
  readonly customStatus: string | null;
  /** A hash of each record, by position. */
  readonly records: readonly number[];
  /** The records of steps, by position. */
  readonly steps: readonly StepRow[];
  /** The records of the ends of invoked runs, by position. */
  readonly invoked: readonly InvokedRow[];
  /** The runs that it has started, in all its epochs. */
  readonly children: readonly ChildRow[];
  /** Whether its handler has ended, and nothing new may begin until the last lease is over. */
  readonly isClosing: boolean;
  /** The record that tells how it ends and which undos it owes. */
  readonly ending: { readonly position: number; readonly value: string } | null;
  readonly endings: number;
  /** How many undos it owes, and how many of them failed for good, as its row counts them. */
  readonly undos: number | null;
  readonly failedUndos: number | null;
  /** The places of which an attempt is kept that failed, or never told how it ended. */
  readonly attempted: readonly string[];
  /** The keys that its transactions have written down outside. */
  readonly bookings: readonly string[];
  /** Whether a turn was begun before its end was recorded, and never told how it ended. */
  readonly isInterrupted: boolean;
  /** The places of records that were made in a cleanup, and of undos. */
  readonly tidied: readonly string[];
  /** The places of records that were made after its cancel was recorded, in no cleanup, and are no undos. */
  readonly untidy: readonly string[];
  /** Whether each place has one record at most. */
  readonly isDistinct: boolean;
  readonly isDense: boolean;
  readonly timesAscend: boolean;
  readonly pending: readonly PendingRow[];
  /** Signals of the run, as they arrived. */
  readonly signals: readonly SignalRow[];
  readonly answers: readonly AnswerRow[];
}

export interface PendingRow extends Leased {
  readonly place: string;
  readonly kind: "branch" | "retry" | "sleep" | "signal" | "callback" | "child";
  readonly signal: string | null;
  readonly isTimed: boolean;
  /** Whether it was asked for in a cleanup. */
  readonly isShielded: boolean;
  /** Whether it lost a race. */
  readonly isReleased: boolean;
  /** Whether it tells the end of a run that goes on. */
  readonly isMistold: boolean;
  readonly position: number | null;
}

export interface StepRow {
  readonly place: string;
  readonly position: number;
  /** The error that the step failed with, as a stored text. Null: it succeeded. */
  readonly failure: string | null;
}

export interface InvokedRow extends StepRow {
  /** Whether it had not ended within its timeout. */
  readonly isTimeout: boolean;
}

export interface ChildRow {
  readonly place: string;
  readonly runId: string;
  readonly isOver: boolean;
}

/** Whether it was failed unexecuted, since those that had begun it ended without a word. */
export function isCrash({ failure }: StepRow): boolean {
  return failure?.includes("step_crashed") === true;
}

/** Whether a body returned or threw what is recorded of it. */
export function isOfBody({ failure }: StepRow): boolean {
  return failure === null || !/step_crashed|"interrupted"/.test(failure);
}

export interface SignalRow {
  readonly name: string;
  readonly payload: string;
  /** Position of the record that took the signal. Null: none did. */
  readonly position: number | null;
  /** Whether there is such a record, and it holds the payload. */
  readonly isTaken: boolean | null;
}

export interface AnswerRow {
  readonly place: string;
  readonly outcome: "resolved" | "rejected" | "expired";
  readonly position: number | null;
}

/** The statement that takes it. */
export const snapshotting = {
  name: "snapshot",
  text: readFileSync(new URL("snapshot.sql", import.meta.url), "utf8"),
};

export function isOver({ status }: Pick<RunRows, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

export function snapshotIn([row]: readonly { readonly snapshot: Snapshot }[]): Snapshot {
  if (row === undefined) throw new Error("the database answered no snapshot");
  return row.snapshot;
}
