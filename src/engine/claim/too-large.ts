/** Whether the answer of a call was too large for Postgres, or for the driver, to give in one piece. */
import { QueryError } from "../../core/ports.ts";
import { isAnswerTooLarge } from "../../postgres/consequence.ts";

/** What Postgres answers when it cannot build the answer: out of memory; a limit of the program exceeded. */
const states = new Set(["53200", "54000"]);

export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof QueryError)) return false;
  return isAnswerTooLarge(error) || (error.sqlState !== undefined && states.has(error.sqlState));
}
