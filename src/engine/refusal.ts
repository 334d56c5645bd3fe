/** Why the database did not take a finish: what it says of the result, or of the database itself. */
import { QueryError } from "../core/ports.ts";
import type { FinishAnswer } from "../postgres/wire.ts";

export interface Refusal {
  readonly error: unknown;
  /** The value itself cannot be stored, however often it is sent: SQLSTATE 22xxx or 54xxx. */
  readonly isOfValue: boolean;
  /** The database takes nothing at present: it is not there, it is full, it is read-only, a right is missing. */
  readonly isOfDatabase: boolean;
  /** Whether the database has answered at all. */
  readonly isAnswered: boolean;
  /** In ASCII, so that it can be stored where the value could not. */
  readonly reason: string;
}

/** Errors about one result: a value, a constraint, a trigger of the user's own, a damaged page. */
const aboutOne = /^(22|23|54|P0|XX)/;
const longestReason = 300;

/** Undefined: the finish was not refused. */
export function refusalIn(answer: FinishAnswer): Refusal | undefined {
  if (answer.outcome !== "raised") return undefined;
  const { message, sqlState } = answer;
  return describe(new Error(`${message} (${sqlState})`), sqlState, message);
}

/** Of a call that failed. Nobody knows whether it took effect, unless the database has answered. */
export function refusalBy(error: unknown): Refusal {
  const sqlState = error instanceof QueryError ? error.sqlState : undefined;
  return describe(error, sqlState, error instanceof Error ? error.message : String(error));
}

function describe(error: unknown, sqlState: string | undefined, message: string): Refusal {
  const printable = message.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, longestReason);
  return {
    error,
    isOfValue: sqlState !== undefined && /^(22|54)/.test(sqlState),
    isOfDatabase: sqlState === undefined || !aboutOne.test(sqlState),
    isAnswered: sqlState !== undefined && !/^(08|57P)/.test(sqlState),
    reason: sqlState === undefined ? printable : `${printable} (${sqlState})`,
  };
}
