/**
 * What follows from a failed statement for the call and for the connection. What other files read in a SQLSTATE is
 * listed in README.md beside this file.
 *
 * Every function of layover's can be called again without harm. So a call is sent again whenever a second try may
 * succeed.
 */
import type { QueryError } from "../core/ports.ts";

export interface Consequence {
  /**
   * Whether the same call is sent again: never; at once, without a prepared statement; or after a pause. Each time
   * counts as a try.
   */
  readonly again: "never" | "unprepared" | "later";
  /**
   * What happens to the connection. The older connections of its pool lead to the same server, so they may end with it.
   */
  readonly connection: "kept" | "ended" | "ended with all older ones";
}

/** What follows from each SQLSTATE. The first row that fits counts. */
const table: readonly (readonly [sqlState: RegExp, Consequence])[] = [
  // A wrong login or database name is mended by hand only.
  [/^(28...|3D000)$/, { again: "never", connection: "ended" }],
  // A pooler gave the call to a session that lacks the prepared statement, or has it already. Nothing ran.
  [/^(26000|42P05)$/, { again: "unprepared", connection: "kept" }],
  // The connection broke; or the server starts, stops, has crashed, or is read-only after a failover.
  [/^(08...|57P0.|25006)$/, { again: "later", connection: "ended with all older ones" }],
  // The disk stays full until somebody makes room.
  [/^53100$/, { again: "never", connection: "kept" }],
  // No connection or memory is left, or other transactions stood in the way.
  [/^(53...|40001|40P01)$/, { again: "later", connection: "kept" }],
];

const unanswered: Consequence = { again: "later", connection: "ended with all older ones" };
const refused: Consequence = { again: "never", connection: "kept" };
/** What follows if the driver stopped in the middle of an answer. The same answer would be too large again. */
const answerTooLarge: Consequence = { again: "never", connection: "ended" };
const sessionEnded: Consequence = { again: "later", connection: "ended" };

export function consequenceOf(error: QueryError): Consequence {
  const { sqlState, isRolledBack, message } = error;
  if (isAnswerTooLarge(error)) return answerTooLarge;
  // It was no error of Postgres: the network failed, or nothing answered in time.
  if (sqlState === undefined) return unanswered;
  // The connection's prepared statement is older than a migration. Nothing ran.
  if (sqlState === "0A000" && message.includes("cached plan")) return unanswered;
  const [, consequence = isRolledBack ? refused : sessionEnded] = table.find(([states]) => states.test(sqlState)) ?? [];
  return isRolledBack || consequence.connection !== "kept" ? consequence : { ...consequence, connection: "ended" };
}

/** Whether the answer was larger than a string of this runtime can be, or than Neon's proxy passes on. */
export function isAnswerTooLarge({ sqlState, message, cause }: QueryError): boolean {
  if (sqlState !== undefined) return false;
  const code: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return code === "ERR_STRING_TOO_LONG" || /response is too large/i.test(message);
}
