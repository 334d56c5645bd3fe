/**
 * Brings a database to the state that this code expects: each migration once, in order, then the functions, all in
 * one transaction. However many deployments do it at the same time, and wherever one of them is cut off, the database
 * is either as it was or done.
 *
 *   await migrate(new Pool({ connectionString: process.env.DATABASE_URL }));
 *
 * Node only: it reads SQL from files. Needs a role that may create things; what runs in production needs none of that.
 */
import { QueryError } from "../core/ports.ts";
import { bookkeeping, recordFunctions, recordMigration, sessionSettings, takeTheLock } from "./migration-sql.ts";
import { type PgClient, type PgPool, pgTransaction } from "./pg.ts";
import { type PgliteDatabase, pgliteTransaction } from "./pglite.ts";
import { lookAround, type Place, refuseWithoutPermission } from "./place.ts";
import { areFunctionsDue, conflicts, functionsToWrite, nothing, pendingMigrations, readState } from "./schema-state.ts";
import type { Script } from "./script.ts";
import { SetupError } from "./setup-error.ts";
import { readSchema, type Schema, type SchemaSource } from "./sql-files.ts";

export { checkSchema, type SchemaCheck } from "./check-schema.ts";
export { migrationSql } from "./migration-sql.ts";
export { SetupError, type SetupErrorCode } from "./setup-error.ts";
export type { SchemaSource } from "./sql-files.ts";

export interface Migrated {
  /** Names of the migrations that were new to the database: `0001_tables`. */
  readonly applied: readonly string[];
  /** How many functions were written. 0: they were there, or newer ones are. */
  readonly functions: number;
}

/**
 * Brings a database up to this code, as the first lines of this file say. Answers what was new to it.
 *
 * @throws SetupError `newer_database`, `permission_denied`, `migration_failed` …, with the database as it was
 * @example const { applied } = await migrate(pool); // ["0001_tables"], and [] the next time
 */
export async function migrate(
  database: PgPool | PgClient | PgliteDatabase,
  source: SchemaSource = {},
): Promise<Migrated> {
  const schema = readSchema(source);
  const transaction = "exec" in database ? pgliteTransaction(database) : pgTransaction(database);
  return await transaction((script) => bringUp(script, schema));
}

async function bringUp(script: Script, schema: Schema): Promise<Migrated> {
  await script(sessionSettings + takeTheLock);
  const place = await lookAround(script);
  const state = place.isOurs ? await readState(script) : nothing;
  for (const conflict of conflicts(state, schema)) throw conflict;

  const pending = pendingMigrations(state, schema);
  const functions = pending.length > 0 || areFunctionsDue(state, schema) ? functionsToWrite(state, schema) : [];
  if (pending.length === 0 && functions.length === 0) return { applied: [], functions: 0 };

  refuseWithoutPermission(place);
  if (!place.isOurs) await script((place.owner === null ? "create schema layover;" : "") + bookkeeping);
  for (const migration of pending) {
    await run(script, place, `migrations/${migration.name}.sql`, `${migration.sql}\n;${recordMigration(migration)}`);
  }
  for (const { name, sql } of functions) await run(script, place, `functions/${name}.sql`, sql);
  if (functions.length > 0) await script(recordFunctions(schema));
  return { applied: pending.map(({ name }) => name), functions: functions.length };
}

async function run(script: Script, place: Place, file: string, sql: string): Promise<void> {
  try {
    await script(sql);
  } catch (error) {
    if (!(error instanceof QueryError) || !error.isRolledBack) throw error;
    if (error.sqlState === "42501") {
      throw new SetupError("permission_denied", `"${place.role}" may not carry out ${file}: ${error.message}.`, {
        hint: `Run migrate as the role that did so first: "${place.owner ?? place.role}".`,
        cause: error,
      });
    }
    throw new SetupError("migration_failed", `${file}${lineOf(error.cause, sql)} failed: ${error.message}.`, {
      hint: "The database is as it was before.",
      cause: error,
    });
  }
}

function lineOf(cause: unknown, sql: string): string {
  const position =
    typeof cause === "object" && cause !== null && "position" in cause ? Number(cause.position) : Number.NaN;
  return position > 0 ? `:${sql.slice(0, position).split("\n").length}` : "";
}
