/** What the person at the keyboard can put right: a sentence that says what is wrong, and one that says what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string;

  constructor(message: string, options: { hint: string; cause?: unknown }) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.hint = options.hint;
  }
}
