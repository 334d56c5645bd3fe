/** Why the database did not take a finish, and what follows from that for the result and for other finishes. */
import { QueryError } from "../../core/ports.ts";
import type { FinishAnswer } from "../../postgres/wire.ts";

export interface Refusal {
  readonly error: unknown;
  /** Whether the value itself cannot be stored, however often it is sent: SQLSTATE 22xxx or 54xxx. */
  readonly isOfValue: boolean;
  /** Whether the database takes nothing at present: it is away, full or read-only, or a right is missing. */
  readonly isOfDatabase: boolean;
  /** Whether somebody else had locked the run for too long: SQLSTATE 55P03. It may be free at any moment. */
  readonly isLocked: boolean;
  /** Whether the database has answered at all. */
  readonly isAnswered: boolean;
  /** The reason in ASCII, so that it can be stored where the value could not. */
  readonly reason: string;
}

const lockNotAvailable = "55P03";
/** The errors that concern one result: a value, a constraint, a locked row, a user's trigger, a damaged page. */
const aboutOne = /^(22|23|54|55P03|P0|XX)/;
const longestReason = 300;

/** Reads a refusal from the answer. Undefined: the finish was not refused. */
export function refusalIn(answer: FinishAnswer): Refusal | undefined {
  if (answer.outcome !== "raised") return undefined;
  const { message, sqlState } = answer;
  return describe(new Error(`${message} (${sqlState})`), sqlState, message);
}

/** Makes the refusal of a call that failed. If the database gave no answer, nobody knows whether the call took effect. */
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
    isLocked: sqlState === lockNotAvailable,
    isAnswered: sqlState !== undefined && !/^(08|57P)/.test(sqlState),
    reason: sqlState === undefined ? printable : `${printable} (${sqlState})`,
  };
}
