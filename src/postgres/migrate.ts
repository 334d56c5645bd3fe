/**
 * Brings a database to the state that this code expects: each migration once, in order, then all functions. Older code
 * goes on working meanwhile, since new tables serve it too. It waits at most 300 ms behind migrate for a lock.
 *
 *   await migrate(new Pool({ connectionString: process.env.DATABASE_URL }));
 *
 * Each migration is a transaction of its own, and the functions together are one. If migrate is cut off, the next one
 * goes on from there. Any number of them may run at the same time.
 *
 * It runs on Node only, since it reads SQL from files. It needs a role that may create things. The role of a deployment
 * needs no such right.
 */

import type { HostClock } from "../core/ports.ts";
import { buildConcurrently } from "./concurrent-index.ts";
import { hostClock } from "./host-clock.ts";
import { LockTaken, patiently, type Wait } from "./lock-waits.ts";
import { bookkeeping, recordFunctions, recordMigration, transactionSettings, tryTheLock } from "./migration-sql.ts";
import { type PgClient, type PgPool, pgSession, pgTransaction } from "./pg.ts";
import { type PgliteDatabase, pgliteTransaction } from "./pglite.ts";
import { rememberRights, setRights } from "./rights-sql.ts";
import { roles } from "./roles.ts";
import { runSqlFile } from "./run-sql-file.ts";
import { areFunctionsDue, conflicts, nothing, pendingMigrations, readState } from "./schema-state.ts";
import type { Script } from "./script.ts";
import { fileOf, type Migration, readSchema, type Schema, type SchemaSource } from "./sql-files.ts";
import { inspectTarget, refuseWithoutPermission, type Target } from "./target.ts";

export { checkSchema, type SchemaCheck } from "./check-schema.ts";
export type { Blocker, Wait } from "./lock-waits.ts";
export { migrationSql } from "./migration-sql.ts";
export { makeRoles } from "./roles.ts";
export { SetupError, type SetupErrorCode } from "./setup-error.ts";
export type { SchemaSource } from "./sql-files.ts";

export interface MigrateOptions extends SchemaSource {
  /** Is told what migrate waits for, before each pause. */
  readonly onWait?: (wait: Wait) => void;
  /** @internal The clock by which it pauses. */
  readonly host?: HostClock;
}

export interface Migrated {
  /** Names of the migrations that were new to the database: `0001_tables`. */
  readonly applied: readonly string[];
  /** How many functions were written. 0: they were there, or newer ones are. */
  readonly functions: number;
}

/**
 * Brings a database to the state that this code expects. Answers the migrations that were applied now.
 *
 * It waits for others as long as it takes, and tells `onWait` who they are. It may be cut off at any time.
 *
 * @throws SetupError `newer_database`, `permission_denied`, `migration_failed` …; the database is then as it was before
 *   the file that the error names
 * @example const { applied } = await migrate(pool); // ["0001_tables"], and [] the next time
 */
export async function migrate(
  database: PgPool | PgClient | PgliteDatabase,
  { onWait = () => {}, host = hostClock, ...source }: MigrateOptions = {},
): Promise<Migrated> {
  const schema = readSchema(source);
  const isEmbedded = "exec" in database;
  const transaction = isEmbedded ? pgliteTransaction(database) : pgTransaction(database);
  const session = isEmbedded ? undefined : pgSession(database);
  const patience = { transaction, host, onWait };
  const applied: string[] = [];
  for (;;) {
    const step = await patiently(patience, () =>
      transaction((script) => takeStep(script, schema, { canBuildConcurrently: session !== undefined })),
    );
    if (step.kind === "over") return { applied, functions: step.functions };
    const isDone =
      session === undefined || step.kind === "applied"
        ? true
        : await patiently(patience, () => buildConcurrently(session, step.target, step.migration));
    if (isDone) applied.push(step.migration.name);
  }
}

type Step =
  | { readonly kind: "applied"; readonly migration: Migration }
  /** Nothing was done, because the next migration is an index. It needs a session, and no transaction. */
  | { readonly kind: "index"; readonly migration: Migration; readonly target: Target }
  | { readonly kind: "over"; readonly functions: number };

/** Takes the next step in one transaction. It does not matter who took the steps before. */
async function takeStep(
  script: Script,
  schema: Schema,
  { canBuildConcurrently }: { readonly canBuildConcurrently: boolean },
): Promise<Step> {
  const [row] = await script(transactionSettings + tryTheLock);
  if (row?.["is_taken"] !== true) throw new LockTaken("migrating");
  const target = await inspectTarget(script);
  const state = target.isOurs ? await readState(script) : nothing;
  for (const conflict of conflicts(state, schema)) throw conflict;

  const [migration] = pendingMigrations(state, schema);
  if (migration === undefined && !areFunctionsDue(state, schema)) return { kind: "over", functions: 0 };
  refuseWithoutPermission(target);
  if (target.owner === roles.owner) await script(`set local role ${roles.owner}`);
  if (!target.isOurs) await script((target.owner === null ? "create schema layover;" : "") + bookkeeping);
  if (migration === undefined) return { kind: "over", functions: await writeFunctions(script, target, schema) };
  if (migration.concurrent !== undefined && canBuildConcurrently) return { kind: "index", migration, target };
  await runSqlFile(script, target, fileOf(migration), `${migration.sql}\n;${recordMigration(migration)}`);
  return { kind: "applied", migration };
}

/** Writes all functions together, as they call each other. Replacing a function locks no table. */
async function writeFunctions(script: Script, target: Target, schema: Schema): Promise<number> {
  await script(rememberRights);
  for (const { file, sql } of schema.functions) await runSqlFile(script, target, file, sql);
  await script(setRights(schema) + recordFunctions(schema));
  return schema.functions.length;
}
