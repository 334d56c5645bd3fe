/**
 * What an engine tells of its runs while it works. Nothing is told in another way: log lines and errors are events too.
 * Each event is told once, by the process that saw it. What the database records is told after it has recorded it. If
 * the process dies in between, nobody tells it. So use events for counters and logs, and let no decision depend on them.
 */
import type { ErrorValue } from "../core/codec/error-value.ts";
import { isLayoverError } from "../core/errors.ts";
import { QueryError } from "../core/ports.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Names a span of a trace, in lower-case hexadecimal digits: 32 and 16 of them. */
export interface TraceRef {
  readonly traceId: string;
  readonly spanId: string;
}

/** What a handler has logged. */
export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  readonly runId: string;
  readonly workflow: string;
  /** The step whose body has logged it, and the number of its attempt. Undefined: the handler, or one of several bodies. */
  readonly step?: string | undefined;
  readonly attempt?: number | undefined;
  /** The span of the turn, or of the attempt. Undefined: nothing is traced here. */
  readonly trace?: TraceRef | undefined;
}

/** A mistake of a handler. The run goes on in spite of it. */
export interface Mistake {
  /**
   * `not_awaited`: the handler returned without awaiting everything that it had asked for. `foreign_await`: it awaited
   * something that is no step, which every replay does again.
   */
  readonly code: "not_awaited" | "foreign_await";
  /** What was seen, and what to do. */
  readonly message: string;
  readonly runId: string;
  readonly workflow: string;
}

interface OfRun {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /** The database's time. */
  readonly at: Date;
  /** The span of the turn. Undefined: nothing is traced here. */
  readonly trace?: TraceRef | undefined;
}

interface OfAttempt extends OfRun {
  /** The step's path, such as `ship[3]/send`. */
  readonly step: string;
  /** The number of the attempt, counted from 1. */
  readonly attempt: number;
  readonly beganAt: Date;
}

interface OfLooks {
  readonly runId: string;
  readonly step?: string | undefined;
  readonly workflow?: string | undefined;
  readonly version?: number | undefined;
  readonly at: Date;
}

/** One thing that happened. `code` is the error's own code, where it has one. */
export type LayoverEvent =
  | ({ readonly kind: "run_completed" | "run_cancelled" } & OfRun)
  | ({ readonly kind: "run_failed"; readonly error: ErrorValue; readonly code: string | undefined } & OfRun)
  /** The run stands still: the code does not fit its history, or the run ended its process again and again. */
  | ({ readonly kind: "run_blocked"; readonly reason: string } & OfRun)
  /**
   * Its first turn begins, and the deployed contract of its version is not the one with which it was started: a schema was changed,
   * and the version was not. The run goes on all the same.
   */
  | ({ readonly kind: "contract_differs" } & OfRun)
  /** A turn did not get on. It is tried again; after four tries the run is blocked. */
  | ({ readonly kind: "run_held_up"; readonly reason: string } & OfRun)
  /**
   * The run continues as new again and again without waiting for anything, so its next lap begins at `until`: a second
   * after the lap before, then two, four … up to a minute.
   */
  | ({ readonly kind: "run_slowed"; readonly until: Date } & OfRun)
  | ({ readonly kind: "step_completed" } & OfAttempt)
  /** An attempt failed, and another one follows at `retryAt`. */
  | ({
      readonly kind: "attempt_failed";
      readonly error: ErrorValue;
      readonly code: string | undefined;
      readonly retryAt: Date;
    } & OfAttempt)
  /** The last attempt of a step failed. The handler may catch the error, and the run goes on. */
  | ({ readonly kind: "step_exhausted"; readonly error: ErrorValue; readonly code: string | undefined } & OfAttempt)
  /** A turn ended without a finish: its process died, or was so slow that another one claimed the turn. */
  | ({ readonly kind: "lease_lost" } & OfLooks)
  /** The scheduler has dispatched it `dispatches` times, and nobody has claimed it. */
  | ({ readonly kind: "run_unclaimed"; readonly dispatches: number } & OfLooks)
  /** A handler has logged something. `onLog` gets it, too. */
  | ({ readonly kind: "handler_logged" } & LogEntry)
  | ({ readonly kind: "handler_mistaken" } & Mistake)
  /** The platform's queue has given up a dispatch, since it could not be delivered again and again. */
  | {
      readonly kind: "dispatch_given_up";
      readonly runId: string;
      readonly workflow: string;
      readonly version: number;
      /** The status of the run. */
      readonly status: string;
      /** Why the run is blocked. Undefined: it is not blocked. */
      readonly blocked: string | undefined;
      readonly dispatchedTurn: number;
      readonly turn: number;
      /** When the run's alarm rings. Undefined: it needs none. */
      readonly dueAt: Date | undefined;
      readonly waitsFor: readonly string[];
    }
  /** A request to a webhook that does not come from its sender, as far as its signature tells. Nothing was read or written. */
  | { readonly kind: "webhook_unverified"; readonly webhook: string; readonly reason: string }
  /** A delivery of a sender was verified, and was not carried out, or not wholly. `layover webhooks replay` tries it again. */
  | {
      readonly kind: "delivery_refused";
      readonly webhook: string;
      /** The sender's id. */
      readonly delivery: string;
      /** `failed`: the code threw. `expired`: no run took what was kept for it. */
      readonly outcome: "refused" | "failed" | "expired";
      readonly reason: string;
    }
  /** The code has nothing to do for a delivery. */
  | {
      readonly kind: "delivery_ignored";
      readonly webhook: string;
      readonly delivery: string;
      readonly reason: string;
    }
  /**
   * A firing of a schedule started no run. `inRow`: how many in a row did not. From the third one on it is a warning of the
   * log, since a run that stands still would silence a nightly job for ever.
   */
  | {
      readonly kind: "schedule_skipped";
      readonly schedule: string;
      readonly cause: "overlap" | "missed" | "conflict" | "refused";
      /** The instant that was skipped, or the first of several that were missed. */
      readonly scheduledAt: Date;
      /** `overlap`: the run that is not over. `conflict`: the one that has the id. */
      readonly runId: string | undefined;
      readonly reason: string | undefined;
      readonly inRow: number;
    }
  /** A schedule that this code declares was not registered. It fires as it did before, or not at all. */
  | { readonly kind: "schedule_refused"; readonly schedule: string; readonly reason: string }
  /**
   * A schedule fires no more: the database has lost its timezone, so it cannot say when it would; or its one instant (`at`) had
   * passed before its code was deployed, which is told at each deploy.
   */
  | { readonly kind: "schedule_stopped"; readonly schedule: string; readonly reason: string }
  /** Nothing is fired: the clock of this host, or that of the database, is more than an hour wrong. */
  | { readonly kind: "schedules_held"; readonly due: number; readonly message: string }
  /** This deployment works, but at a cost that `message` names, since something is not bound. */
  | { readonly kind: "binding_missing"; readonly message: string }
  /** A look that no alarm asked for has found runs that were due: an alarm was lost. */
  | { readonly kind: "sweep_found"; readonly due: number; readonly message: string }
  /** Something went wrong in the engine itself. Nothing is lost by it. */
  | { readonly kind: "error"; readonly error: unknown; readonly doing: string; readonly code: string | undefined };

/**
 * Makes the event of a sweep that has found runs for which no alarm rang. `hasNeighbours`: other processes have alarms of their own,
 * and this one does not hear them.
 */
export function sweepFound(due: number, { hasNeighbours = false } = {}): LayoverEvent {
  const [runs, them] = due === 1 ? ["1 run was", "it"] : [`${due} runs were`, "them"];
  const [alarm, mover] = hasNeighbours ? ["alarm of this process", "SQL or another process"] : ["alarm", "SQL"];
  const message = `${runs} due and no ${alarm} rang for ${them}: an alarm was lost, or ${mover} moved ${them} and nobody called wake()`;
  return { kind: "sweep_found", due, message };
}

/** Is told of an event. */
export type Tell = (event: LayoverEvent) => void;

/** Is told of what went wrong in the engine itself. */
export type Report = (error: unknown, doing: string) => void;

/** Makes events of errors. */
export function reportTo(tell: Tell): Report {
  return (error, doing) => tell({ kind: "error", error, doing, code: codeOf(error) });
}

/** The error that `onError` is told of as well, and what was being done. */
export function errorIn(event: LayoverEvent): readonly [error: unknown, doing: string] | undefined {
  if (event.kind === "error") return [event.error, event.doing];
  return event.kind === "sweep_found" ? [new Error(event.message), "sweeping"] : undefined;
}

/** Leaves out the events that `onError` is told of. */
export function exceptErrors(tell: Tell): Tell {
  return (event) => {
    if (errorIn(event) === undefined) tell(event);
  };
}

function codeOf(error: unknown): string | undefined {
  if (isLayoverError(error)) return error.code;
  return error instanceof QueryError ? error.sqlState : undefined;
}
