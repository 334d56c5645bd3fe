/** The error that the test kit throws when a test asks for what cannot be. */

export type KitErrorCode =
  /** The run does not wait for what the test thinks that it waits for. */
  | "not_waiting"
  /** The run has no result yet. */
  | "not_over"
  /** A body, or something else that a handler awaits, does not end. */
  | "never_ends"
  /** Turns follow each other for ever, and no time passes. */
  | "endless"
  /** A stub, or a start, of a workflow that this engine does not have. */
  | "unknown_workflow"
  /** A mistake of a handler: it awaits something that is no step, or does not await a step. */
  | "handler_mistake"
  /** A stub that no step has met, while a step of nearly its name has no stub. */
  | "unknown_stub"
  /** The engine itself reported an error. */
  | "engine_failed"
  | "closed";

/**
 * The test asks for what cannot be. `code` is stable, the message says what was found and what to do.
 *
 * @example await expect(run.callback("approval").resolve({ ok: true })).rejects.toMatchObject({ code: "not_waiting" });
 */
export class TestKitError extends Error {
  override readonly name = "TestKitError";
  readonly code: KitErrorCode;
  readonly hint: string;

  constructor(code: KitErrorCode, message: string, options: { hint: string; cause?: unknown }) {
    super(`${message} ${options.hint}`, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint;
  }
}
