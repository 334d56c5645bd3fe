/**
 * Brings a database to the state that this code expects: each migration once, in order, then the functions, all in
 * one transaction. However many deployments do it at the same time, and wherever one of them is cut off, the database
 * is either as it was or done.
 *
 *   await migrate(new Pool({ connectionString: process.env.DATABASE_URL }));
 *
 * Node only: it reads SQL from files. Needs a role that may create things; what runs in production needs none of that.
 */
import { type Query, QueryError, type Row } from "../core/ports.ts";
import { type PgClient, type PgPool, pgTransaction } from "./pg.ts";
import { type PgliteDatabase, pgliteTransaction } from "./pglite.ts";
import type { Script } from "./script.ts";
import { SetupError } from "./setup-error.ts";
import { type Migration, readSchema, type Schema, type SchemaSource, type SqlFunction } from "./sql-files.ts";

export { SetupError, type SetupErrorCode } from "./setup-error.ts";
export type { SchemaSource } from "./sql-files.ts";

export interface Migrated {
  /** Names of the migrations that were new to the database: `0001_tables`. */
  readonly applied: readonly string[];
  /** How many functions were written. 0: they were there, or newer ones are. */
  readonly functions: number;
}

/**
 * @throws SetupError, with the database as it was.
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
  await script(prepareSession);
  const place = await lookAround(script);
  refuseForeignSchema(place);
  const state = place.isOurs ? await readState(script) : nothing;
  refuseWhatCannotWork(state, schema);

  const pending = schema.migrations.filter(({ number }) => !state.migrations.some((known) => known.number === number));
  const functions = areFunctionsDue(state, schema) ? schema.functions : [];
  if (pending.length > 0 || functions.length > 0) {
    refuseWithoutPermission(place);
    if (!place.isOurs) await run(script, "the first tables", bookkeeping);
    for (const migration of pending) await run(script, `migrations/${migration.name}.sql`, withRecord(migration));
    for (const { name, sql } of functions) await run(script, `functions/${name}.sql`, sql);
    if (functions.length > 0) await script(recordFunctions(schema));
  }
  return { applied: pending.map(({ name }) => name), functions: functions.length };
}

/**
 * The lock comes first: a deployment that waited for another one sees all that it did, as each statement in read
 * committed has a snapshot of its own. Names resolve in Postgres' own schema only, so one that lacks its schema fails
 * here and not later, in somebody's search_path. Functions may call others that come after them.
 */
const prepareSession = `
set local statement_timeout = 0;
set local lock_timeout = 0;
set local client_min_messages = warning;
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
select pg_advisory_xact_lock(7812089, 1);
`;

const bookkeeping = `
create schema if not exists layover;
create table layover.migration (
  number      integer primary key,
  name        text not null,
  checksum    text not null,
  is_breaking boolean not null,
  applied_at  timestamptz not null
);
create table layover.function_set (
  is_current boolean primary key default true check (is_current),
  version    text not null,
  checksum   text not null,
  applied_at timestamptz not null
);
`;
