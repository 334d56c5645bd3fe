/** What a statement's failure means to whoever called a verb. What is left as it was is a bug, of ours or in a setup. */
import { LayoverError } from "../../core/errors.ts";
import { QueryError } from "../../core/ports.ts";

/** Runs `call`; its database errors come out as LayoverErrors where somebody can do something about them. */
export async function translated<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof QueryError ? translate(error) : error;
  }
}

function translate(cause: QueryError): Error {
  switch (cause.sqlState) {
    case "LO001":
      return new LayoverError("wrong_isolation", "the transaction's isolation level is not read committed", {
        hint:
          "Begin it with `begin isolation level read committed`, or call outside of it. If you began none, the role has " +
          "another default: `alter role … set default_transaction_isolation = 'read committed'`.",
        cause,
      });
    case "LO002":
      return new LayoverError("too_late", "the database took too long, so the call was given up without effect", {
        hint: "Call again.",
        cause,
      });
    case "LO011":
      return new LayoverError(
        "too_late",
        "the processes that were to ring for this call changed again and again, so it was given up without effect",
        { hint: "Call again.", cause },
      );
    case "LO010":
      return new LayoverError("wrong_environment", cause.message, {
        hint: "`npx layover doctor` says what differs. If its runs are to be carried out here: `npx layover adopt`. If this is a new address of the same database: `npx layover adopt --address`.",
        cause,
      });
    case "LO005":
      return revokedKey({ cause });
    case "LO006":
      return new LayoverError(
        "invalid_request",
        "the runId holds a time that is more than a day ahead of the database's clock",
        {
          hint: "Correct the clock of the machine that made the runId, or leave the runId out.",
          details: { field: "runId" },
          cause,
        },
      );
    case "42501":
      return new LayoverError("internal", "the database role of this deployment may not call layover", {
        hint: "Run `npx layover migrate --roles` as the role that migrates, and then: grant layover_runtime to this role.",
        cause,
      });
    case "LO007":
      return new LayoverError("too_many_signals", "the run has too many signals that it has not taken", {
        hint: "A run keeps 10,000 signals that it has not taken, or 16 MiB of them. Send this one again when the run has taken some.",
        details: { limit: 10_000, limitBytes: 16 * 1024 * 1024 },
        cause,
      });
    case "LO012":
      return new LayoverError("too_many_operations", "the run has 1,000 operations already, and keeps no more", {
        hint: "A program that pauses and resumes a run again and again should stop. The run itself goes on.",
        details: { limit: 1_000 },
        cause,
      });
    case "3F000":
    case "42883":
    case "42P01":
      return new LayoverError("internal", "layover is not installed in this database, or an older version is", {
        hint: "Run `npx layover migrate`.",
        cause,
      });
    default:
      if (isUnstorable(cause)) return unstorable(cause);
      return isPassing(cause.sqlState) ? unavailable(cause) : cause;
  }
}

/**
 * Whether Postgres cannot read the call's own JSON: U+0000 is 22P05, half of a surrogate pair 22P02. Both come before anything
 * is done. The texts of runs are no JSON.
 */
function isUnstorable({ sqlState, message }: QueryError): boolean {
  return sqlState === "22P05" || (sqlState === "22P02" && message.includes("json"));
}

function unstorable(cause: QueryError): LayoverError {
  return new LayoverError("invalid_request", "a text of the call holds a character that Postgres cannot store", {
    hint: "Leave out U+0000 and halves of surrogate pairs.",
    cause,
  });
}

export function revokedKey(options: { readonly cause?: unknown } = {}): LayoverError {
  return new LayoverError("unauthorized", "the API key was revoked", {
    hint: "Make a new one with `npx layover keys`.",
    ...options,
  });
}

/**
 * Whether the failure passes by itself: a broken connection (08), a read-only server after a failover (25006), no room
 * (53), a server that starts, stops or cancels (57), a conflict that the retries did not end.
 */
function isPassing(sqlState: string | undefined): boolean {
  return sqlState === undefined || /^(08|25006|53|57)|^40(001|P01)|^55P03/.test(sqlState);
}

function unavailable(cause: QueryError): LayoverError {
  const what = /^(40|55)/.test(cause.sqlState ?? "")
    ? "other transactions stood in the way"
    : "the database could not be reached";
  const effect = cause.isRolledBack ? "the call had no effect" : "whether the call took effect is unknown";
  return new LayoverError("database_unavailable", `${what}: ${effect}`, {
    hint: "Call again in some seconds: with the same id (or dedupeId) nothing happens twice.",
    cause,
  });
}
