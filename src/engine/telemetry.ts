/**
 * What watches an engine at work, for traces and metrics (`layover/telemetry`). Events tell what is over and recorded; a
 * trace must also know when something begins, and how long it took. An engine without it pays nothing.
 *
 * Nothing is told of a step that was carried out before: a replay begins no attempt.
 */
import type { ErrorValue } from "../core/codec/error-value.ts";
import type { Tell, TraceRef } from "./events.ts";

/** Where a run comes from, as far as its traces depend on it. */
export interface Origin {
  /** The database's time at which the epoch began, in epoch milliseconds. */
  readonly createdAt: number;
  /** The W3C trace context with which the run was started. */
  readonly traceparent: string | null;
}

/** A turn that was claimed. */
export interface BegunTurn extends Origin {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly epoch: number;
  readonly turn: number;
  /** The place of the branch, if it is a turn of one. */
  readonly branch: string | undefined;
  /** The deployment that carries it out. */
  readonly deployment: { readonly name: string; readonly id: string } | undefined;
  /** The platform's id of the invocation. */
  readonly requestId: string | undefined;
  /** The database's time of the claim. */
  readonly at: number;
  /** The instant since which the claim could have succeeded. Undefined: the turn did not wait for an instant. */
  readonly readyAt: number | undefined;
}

/** An attempt of a step that begins. */
export interface BegunAttempt {
  /** The step's path, such as `ship[3]/send`. */
  readonly step: string;
  /** Counted from 1. */
  readonly attempt: number;
}

/** A sleep or a wait that has ended. */
export interface EndedWait {
  readonly kind: "sleep" | "signal" | "callback" | "child";
  readonly step: string;
  /** `failed`: the callback was rejected, or the other run did not complete. */
  readonly outcome: "succeeded" | "failed" | "timed_out";
  /** How long ago it was asked for, and when it was over: when the signal came, or its time had passed. */
  readonly begunAgoMs: number;
  readonly endedAgoMs: number;
}

/** `retried`: another attempt follows. `left`: nothing is recorded of it, since somebody else may have the step. */
export type AttemptOutcome = "succeeded" | "retried" | "failed" | "left";

/**
 * What the finish of a run's turn says. `deferred`: something came that the turn had not seen. `held_up`: it did not
 * get on, and is tried again. `superseded`: its lease was lost. `error`: the engine could not carry it out. `left`: there
 * was nothing to finish. A turn of a branch: `recorded` or `retried`.
 */
export type TurnOutcome =
  | "ready"
  | "parked"
  | "completed"
  | "failed"
  | "cancelled"
  | "blocked"
  | "recorded"
  | "retried"
  | "held_up"
  | "deferred"
  | "superseded"
  | "error"
  | "left";

export interface AttemptTrace {
  readonly trace: TraceRef | undefined;
  /** Calls `work`, so that what it traces belongs to the attempt. */
  within<Result>(work: () => Result): Result;
  end(outcome: AttemptOutcome, error?: ErrorValue): void;
}

/** Nothing that is told to it throws. */
export interface TurnTrace {
  readonly trace: TraceRef | undefined;
  /** The trace context for the runs that this turn starts. */
  readonly traceparent: string | undefined;
  beginAttempt(attempt: BegunAttempt): AttemptTrace;
  /** Is told of waits that end, if the finish of the turn is taken. */
  noteWait(wait: EndedWait): void;
  /** Ends it. A second call does nothing. */
  end(outcome: TurnOutcome, error?: unknown): void;
}

/** What `serve` is given as its option `telemetry`. `telemetry()` of `layover/telemetry` makes it. */
export interface Telemetry {
  readonly beginTurn: (turn: BegunTurn) => TurnTrace;
  readonly onEvent: Tell;
  readonly onTick: (ticked: { readonly due: number; readonly dispatched: number }) => void;
  /** The trace context of whoever starts a run here, if it is traced. */
  readonly traceparent: () => string | undefined;
  /** Sends what was gathered. Undefined: there is nothing to send. */
  readonly flush: () => Promise<unknown> | undefined;
}
