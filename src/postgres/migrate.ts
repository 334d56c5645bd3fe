/**
 * Brings a database to the state that this code expects: each migration once, in order, then all functions. Old code goes
 * on working meanwhile: new tables serve it too, and no lock that it needs is waited for longer than 300 ms.
 *
 *   await migrate(new Pool({ connectionString: process.env.DATABASE_URL }));
 *
 * Each migration is a transaction of its own, and so are the functions together. Wherever it is cut off, the next migrate
 * goes on from there, and any number of them may run at the same time.
 *
 * Node only: it reads SQL from files. Needs a role that may create things; what runs in production needs none of that.
 */
import { carryOut } from "./carry-out.ts";
import { type HostClock, hostClock } from "./clock.ts";
import { buildConcurrently } from "./concurrent-index.ts";
import { HeldUp, patiently, type Wait } from "./lock-waits.ts";
import { bookkeeping, recordFunctions, recordMigration, transactionSettings, tryTheLock } from "./migration-sql.ts";
import { type PgClient, type PgPool, pgSession, pgTransaction } from "./pg.ts";
import { type PgliteDatabase, pgliteTransaction } from "./pglite.ts";
import { lookAround, type Place, refuseWithoutPermission } from "./place.ts";
import { rememberRights, settleRights } from "./rights-sql.ts";
import { roles } from "./roles.ts";
import { areFunctionsDue, conflicts, nothing, pendingMigrations, readState } from "./schema-state.ts";
import type { Script } from "./script.ts";
import { fileOf, type Migration, readSchema, type Schema, type SchemaSource } from "./sql-files.ts";

export { checkSchema, type SchemaCheck } from "./check-schema.ts";
export type { Blocker, Wait } from "./lock-waits.ts";
export { migrationSql } from "./migration-sql.ts";
export { makeRoles } from "./roles.ts";
export { SetupError, type SetupErrorCode } from "./setup-error.ts";
export type { SchemaSource } from "./sql-files.ts";

export interface MigrateOptions extends SchemaSource {
  /** Is told what migrate waits for, before each pause. */
  readonly onWait?: (wait: Wait) => void;
  /** @internal By which it pauses. */
  readonly host?: HostClock;
}

export interface Migrated {
  /** Names of the migrations that were new to the database: `0001_tables`. */
  readonly applied: readonly string[];
  /** How many functions were written. 0: they were there, or newer ones are. */
  readonly functions: number;
}

/**
 * Brings a database up to this code, as the first lines of this file say. Answers what was new to it.
 *
 * Waits for others as long as it takes, and tells `onWait` who they are. It may be ended at any time.
 *
 * @throws SetupError `newer_database`, `permission_denied`, `migration_failed` …, with the database as it was before the
 * file that it names
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
        : await patiently(patience, () => buildConcurrently(session, step.place, step.migration));
    if (isDone) applied.push(step.migration.name);
  }
}

type Step =
  | { readonly kind: "applied"; readonly migration: Migration }
  /** Nothing was done: the next migration is an index, which needs a session and no transaction. */
  | { readonly kind: "index"; readonly migration: Migration; readonly place: Place }
  | { readonly kind: "over"; readonly functions: number };

/** Does what is to be done next, in one transaction, whoever did what comes before. */
async function takeStep(
  script: Script,
  schema: Schema,
  { canBuildConcurrently }: { readonly canBuildConcurrently: boolean },
): Promise<Step> {
  const [row] = await script(transactionSettings + tryTheLock);
  if (row?.["is_taken"] !== true) throw new HeldUp("migrating");
  const place = await lookAround(script);
  const state = place.isOurs ? await readState(script) : nothing;
  for (const conflict of conflicts(state, schema)) throw conflict;

  const [migration] = pendingMigrations(state, schema);
  if (migration === undefined && !areFunctionsDue(state, schema)) return { kind: "over", functions: 0 };
  refuseWithoutPermission(place);
  if (place.owner === roles.owner) await script(`set local role ${roles.owner}`);
  if (!place.isOurs) await script((place.owner === null ? "create schema layover;" : "") + bookkeeping);
  if (migration === undefined) return { kind: "over", functions: await writeFunctions(script, place, schema) };
  if (migration.concurrent !== undefined && canBuildConcurrently) return { kind: "index", migration, place };
  await carryOut(script, place, fileOf(migration), `${migration.sql}\n;${recordMigration(migration)}`);
  return { kind: "applied", migration };
}

/** All at once: they call each other, and replacing them locks no table. */
async function writeFunctions(script: Script, place: Place, schema: Schema): Promise<number> {
  await script(rememberRights);
  for (const { name, sql } of schema.functions) await carryOut(script, place, `functions/${name}.sql`, sql);
  await script(settleRights(schema) + recordFunctions(schema));
  return schema.functions.length;
}
