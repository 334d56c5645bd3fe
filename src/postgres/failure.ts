/**
 * What a driver's error means: whether the statement may have taken effect. All adapters use it. Other files ask other
 * questions of a SQLSTATE: README.md beside this file lists them.
 */
import { QueryError } from "../core/ports.ts";

/** Makes the error of a statement that was not sent, so that nothing happened. */
export function failedBeforeSending(error: unknown): QueryError {
  return toQueryError(error, true);
}

/**
 * Postgres answers a failed statement with a SQLSTATE and rolls it back. An error that ends the session, or none from
 * Postgres at all, may also have come after the COMMIT: even `pg_terminate_backend` can hit between the two.
 */
export function failedAfterSending(error: unknown): QueryError {
  const sqlState = sqlStateOf(error);
  return toQueryError(error, sqlState !== undefined && !endsTheSession(sqlState, error));
}

function endsTheSession(sqlState: string, error: unknown): boolean {
  // 08: the connection broke, also as poolers say it. 57P: an operator or a crash ended the session.
  if (sqlState.startsWith("08") || sqlState.startsWith("57P") || sqlState === "40003") return true;
  const severity = stringField(error, "severity");
  return severity === "FATAL" || severity === "PANIC";
}

function toQueryError(error: unknown, isRolledBack: boolean): QueryError {
  const sqlState = sqlStateOf(error);
  return new QueryError(messageOf(error) + adviceFor(sqlState, error), {
    ...(sqlState === undefined ? {} : { sqlState }),
    isRolledBack,
    cause: withoutValues(error),
  });
}

/** A host with several addresses fails with an AggregateError, whose own message is empty. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** Node's own errors have a `code` too (ECONNRESET, EPIPE, ETIMEDOUT), some of five letters, but never a severity. */
function sqlStateOf(error: unknown): string | undefined {
  const code = stringField(error, "code");
  const isFromPostgres = stringField(error, "severity") !== undefined || /\d/.test(code ?? "");
  return code !== undefined && isFromPostgres && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

function adviceFor(sqlState: string | undefined, error: unknown): string {
  if (sqlState === "26000" || sqlState === "42P05") {
    return ". A pooler in transaction mode stands in between? Then use pg(pool, { prepare: false })";
  }
  // An error that our own functions raise says in its hint what to do.
  const hint = sqlState?.startsWith("LO") ? stringField(error, "hint") : undefined;
  return hint === undefined ? "" : `. ${hint}`;
}

/** Logs print an error's cause with all its fields, and these may hold what somebody marked as sensitive. */
function withoutValues(error: unknown): unknown {
  if (error instanceof Error) {
    for (const field of ["detail", "params", "query", "queryOptions"]) Reflect.deleteProperty(error, field);
  }
  return error;
}

function stringField(error: unknown, name: string): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const value: unknown = Reflect.get(error, name);
  return typeof value === "string" ? value : undefined;
}
