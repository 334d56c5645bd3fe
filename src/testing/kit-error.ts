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
  /** A handler asks for other things when it is replayed with another clock, other random numbers and another timezone. */
  | "not_deterministic"
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

/** `bodies`: those that do not end. Undefined: something else does not. */
export function neverEnds(patienceMs: number, bodies: readonly string[] | undefined): TestKitError {
  const within = `within ${patienceMs} ms of real time`;
  if (bodies === undefined) {
    return new TestKitError("never_ends", `A handler awaits something that is no step and did not come ${within}.`, {
      hint: 'Do it in a step. Or let the engine see that by advance("1s"): it blocks the run.',
    });
  }
  return new TestKitError("never_ends", `Not over ${within}: ${bodies.join(", ")}.`, {
    hint: "Stub it, raise `patience`, or let it run into its timeout by advance().",
  });
}

export function engineFailed(error: unknown, doing: string): TestKitError {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `The engine failed while ${doing}: ${reason}.`;
  return new TestKitError("engine_failed", message, { hint: "Its cause tells more.", cause: error });
}
