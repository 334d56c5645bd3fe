/** What the person at the keyboard can put right: a sentence that says what is wrong, and one that says what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string;
  /** The exit code of the process. */
  readonly exitCode: number;

  constructor(message: string, options: { hint: string; cause?: unknown; exitCode?: number }) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}
