/** Whether the answer of a call was more than Postgres, or the driver, can take in one piece. */
import { QueryError } from "../core/ports.ts";

/** Out of memory; a limit of the program exceeded. */
const states = new Set(["53200", "54000"]);

export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof QueryError)) return false;
  if (error.sqlState !== undefined) return states.has(error.sqlState);
  const { message, cause } = error;
  const code: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return code === "ERR_STRING_TOO_LONG" || /response is too large/i.test(message); // the second one says Neon's proxy
}
