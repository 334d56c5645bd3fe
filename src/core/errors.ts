/**
 * The mistakes that layover itself reports. Each has a stable `code` for programs, a sentence that says
 * what happened, and a `hint` that says what to do.
 *
 * What user code throws and catches is in user-errors.ts.
 */

/** Every code, with its HTTP status. There is no other such table. */
export const errorCodes = {
  invalid_request: 400,
  invalid_json: 400,
  /** A body in the codec that is none. */
  invalid_value: 400,
  invalid_cursor: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  unknown_workflow: 404,
  unknown_run: 404,
  /** A callback that is not known. A malformed or forged token gets the same code, so a stranger learns nothing. */
  unknown_callback: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  run_over: 409,
  /** The run is in no state for this operation. */
  not_applicable: 409,
  /** A step of the run is still at work. */
  at_work: 409,
  /** Another epoch of the run has begun. */
  epoch_changed: 409,
  /** A step of the run was undone. */
  compensated: 409,
  /** What succeeded after the run's failure came about through it, so a retry would have to repeat it. */
  would_repeat: 409,
  /** A step of the run is done, or may be, and its result is lost. A person must give it. */
  result_needed: 409,
  /** Runs that the run waits for have failed. They are repaired first. */
  child_failed: 409,
  /** The run has no such step. */
  unknown_step: 404,
  /** The run has closed the name of this signal. */
  signal_closed: 409,
  callback_conflict: 409,
  wrong_environment: 409,
  wrong_isolation: 409,
  callback_expired: 410,
  value_too_large: 413,
  body_too_large: 413,
  too_many_fields: 413,
  unsupported_media_type: 415,
  /** A message for one process has reached another one. */
  misdirected: 421,
  invalid_input: 422,
  invalid_payload: 422,
  invalid_name: 422,
  invalid_duration: 422,
  invalid_retry: 422,
  invalid_version: 422,
  invalid_output: 422,
  unknown_delivery: 404,
  unknown_schedule: 404,
  /** A schedule's name is taken by another definition, or by the code of a deployment. */
  schedule_conflict: 409,
  /** The last run of a schedule is not over. */
  schedule_overlap: 409,
  invalid_schedule: 422,
  /** Code that the run's schedule needs is not in this deployment. */
  schedule_missing: 500,
  /** The code of a webhook threw. */
  webhook_failed: 500,
  invalid_status: 422,
  history_limit: 422,
  run_timeout: 422,
  step_crashed: 500,
  /** Two steps with the same name and the same key. */
  duplicate_key: 422,
  /** A verb of `step` that is called in the body of a step. */
  nested_step: 422,
  /** A step that may take longer than any invocation of its host. */
  exceeds_host: 500,
  /** A step whose body is done, and whose result the database cannot store. */
  result_lost: 500,
  /** A step that is to be undone, and has no undo in the code that is deployed. */
  compensation_missing: 500,
  /** A step that runs at most once: it was begun, and its process never told how it ended. */
  interrupted: 500,
  /** A step whose body had begun and not ended long after its run's timeout. */
  result_unknown: 500,
  /** The id of a run that another run starts is taken. */
  conflict: 409,
  /** A run has started as many others as it may. */
  too_many_children: 422,
  /** Too many runs wait for each other, or each has started the next. */
  chain_too_long: 422,
  /** A `step.transaction` on a connection that has no transactions. */
  transactions_unavailable: 500,
  duplicate_workflow: 500,
  duplicate_schedule: 500,
  callbacks_unavailable: 500,
  unstorable_value: 422,
  too_deep: 422,
  unknown_signal: 422,
  /** The id is taken by a run that was started with another input. */
  input_conflict: 422,
  /** Too many signals of one run that it has not taken. */
  too_many_signals: 429,
  /** A run keeps what people did to it, and has no room for more. */
  too_many_operations: 429,
  internal: 500,
  /** The database was migrated by another release than this code works with. */
  wrong_schema: 500,
  /** A root secret that is missing or weak. */
  invalid_secret: 500,
  /** A stored value that this version cannot read. */
  undecodable_value: 500,
  /** What answered the client is not layover, or a version of it that says what this one does not know. */
  unexpected_answer: 502,
  too_late: 503,
  /** The server holds as many bytes of requests as it may. */
  busy: 503,
  /** This process is about to end. */
  closing: 503,
  /** The platform, or a pass of the scheduler, did not finish within its time limit. */
  no_answer: 503,
  database_unavailable: 503,
  /** The client got no answer from its API. */
  unreachable: 503,
} as const satisfies Record<string, number>;

/** Stable: a code is never renamed. */
export type ErrorCode = keyof typeof errorCodes;

export type JsonScalar = string | number | boolean | null;

/** The facts behind an error: the field, the limit, the size, the path in the value. */
export type ErrorDetails = Readonly<Record<string, JsonScalar>>;

/** Whether `thrown` is a LayoverError. A plain `instanceof` throws where a revoked Proxy was thrown. */
export function isLayoverError(thrown: unknown): thrown is LayoverError {
  try {
    return thrown instanceof LayoverError;
  } catch {
    return false;
  }
}

/**
 * A mistake that layover found: in what it was given, or in what it needs. The message says what is wrong and where,
 * `hint` what to do, `details` the facts (a field, a limit, a size in bytes).
 *
 * @example if (error instanceof LayoverError && error.code === "input_conflict") return error.details.runId;
 */
export class LayoverError extends Error {
  override readonly name = "LayoverError";
  readonly code: ErrorCode;
  /** What to do about it. */
  readonly hint: string;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { hint: string; details?: ErrorDetails; cause?: unknown }) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}
