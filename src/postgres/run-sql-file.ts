/** Sends one file of SQL. If it fails, the error says what is wrong for the person at the keyboard. */
import { QueryError } from "../core/ports.ts";
import { isLockedOut, LockTaken } from "./lock-waits.ts";
import type { Script } from "./script.ts";
import { SetupError } from "./setup-error.ts";
import type { Target } from "./target.ts";

/**
 * @param file `migrations/0002_more.sql`
 * @throws LockTaken, SetupError `migration_failed`, `permission_denied`
 */
export async function runSqlFile(script: Script, target: Target, file: string, sql: string): Promise<void> {
  try {
    await script(sql);
  } catch (error) {
    if (isLockedOut(error)) throw new LockTaken("locked", file);
    if (!(error instanceof QueryError) || !error.isRolledBack) throw error;
    if (error.sqlState === "42501") {
      throw new SetupError("permission_denied", `"${target.role}" may not run ${file}: ${error.message}.`, {
        hint: `Run migrate as the role that did so first: "${target.owner ?? target.role}".`,
        cause: error,
      });
    }
    throw new SetupError("migration_failed", `${file}${lineOf(error.cause, sql)} failed: ${error.message}.`, {
      hint: "Nothing of this file took effect. Once it is put right, migrate goes on from there.",
      cause: error,
    });
  }
}

function lineOf(cause: unknown, sql: string): string {
  const position =
    typeof cause === "object" && cause !== null && "position" in cause ? Number(cause.position) : Number.NaN;
  return position > 0 ? `:${sql.slice(0, position).split("\n").length}` : "";
}
