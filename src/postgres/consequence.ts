/**
 * What follows from a failed statement: one table, for whoever owns the connection and for whoever made the call.
 *
 * Every function of layover's is repeatable, so a call is sent again whenever a second try may go better.
 */
import type { QueryError } from "../core/ports.ts";

export interface Consequence {
  /**
   * Whether the same call is sent again: never, at once and without a prepared statement, or after a pause. Each of them
   * counts as a try.
   */
  readonly again: "never" | "unprepared" | "later";
  /** What becomes of the connection. The older ones of its pool lead to the same server, and are worth no more. */
  readonly connection: "kept" | "ended" | "ended with all older ones";
}

/** What follows from each SQLSTATE, the first row that fits. */
const table: readonly (readonly [sqlState: RegExp, Consequence])[] = [
  // Who may connect, and to which database, changes by hand only.
  [/^(28...|3D000)$/, { again: "never", connection: "ended" }],
  // A pooler handed the call to a session that has no such prepared statement, or has it already. Nothing ran.
  [/^(26000|42P05)$/, { again: "unprepared", connection: "kept" }],
  // The connection broke, or a server starts, stops, has crashed, or after a failover is read-only.
  [/^(08...|57P0.|25006)$/, { again: "later", connection: "ended with all older ones" }],
  // The disk is full until somebody makes room.
  [/^53100$/, { again: "never", connection: "kept" }],
  // No connection or memory is left; other transactions stood in the way.
  [/^(53...|40001|40P01)$/, { again: "later", connection: "kept" }],
];

const unanswered: Consequence = { again: "later", connection: "ended with all older ones" };
const refused: Consequence = { again: "never", connection: "kept" };
/** The driver stopped in the middle of an answer. The same answer would be too large again. */
const answerTooLarge: Consequence = { again: "never", connection: "ended" };
const sessionEnded: Consequence = { again: "later", connection: "ended" };

export function consequenceOf(error: QueryError): Consequence {
  const { sqlState, isRolledBack, message } = error;
  if (isAnswerTooLarge(error)) return answerTooLarge;
  // Not Postgres but the network failed, or nothing answered in time.
  if (sqlState === undefined) return unanswered;
  // What a connection has prepared is older than a migration. Nothing ran.
  if (sqlState === "0A000" && message.includes("cached plan")) return unanswered;
  const [, consequence = isRolledBack ? refused : sessionEnded] = table.find(([states]) => states.test(sqlState)) ?? [];
  return isRolledBack || consequence.connection !== "kept" ? consequence : { ...consequence, connection: "ended" };
}

/** Whether the answer was more than one string of this runtime can hold, or than Neon's proxy passes on. */
export function isAnswerTooLarge({ sqlState, message, cause }: QueryError): boolean {
  if (sqlState !== undefined) return false;
  const code: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return code === "ERR_STRING_TOO_LONG" || /response is too large/i.test(message);
}
