/** What stands in the way of setting a database up: for the person at the keyboard, not for a program's users. */

/** Stable: a code is never renamed. */
export type SetupErrorCode =
  /** The database was migrated by newer code, in a way that this code would break on. */
  | "newer_database"
  /** A migration that the database has already is not the one in the folder. */
  | "edited_migration"
  /** Files are missing, or are not numbered 0001, 0002 … */
  | "bad_migrations"
  | "migration_failed"
  | "permission_denied"
  /** A connection through a pooler, where a session of its own is needed. */
  | "pooled_connection"
  /** There is a schema `layover` that somebody else made. */
  | "schema_taken"
  /** A database whose texts are in another encoding than UTF8. */
  | "wrong_encoding"
  /** Another process works on this data folder. */
  | "folder_in_use"
  | "package_missing";

/**
 * A database cannot be set up, or used, as it is.
 *
 * @example if (error instanceof SetupError && error.code === "newer_database") process.exitCode = 1;
 */
export class SetupError extends Error {
  override readonly name = "SetupError";
  readonly code: SetupErrorCode;
  /** What to do about it. Also the end of the message, since that is what most people see. */
  readonly hint: string;

  constructor(code: SetupErrorCode, message: string, options: { hint: string; cause?: unknown }) {
    super(`${message} ${options.hint}`, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint;
  }
}
