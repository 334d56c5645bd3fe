/** The SQL around the files: what migrate sends besides them, and all of it as one script. */
import { literal } from "./literal.ts";
import { rememberRights, settleRights } from "./rights-sql.ts";
import { type Migration, readSchema, type Schema, type SchemaSource } from "./sql-files.ts";

/**
 * All of it as one script, for people who run SQL by hand. Running it again does no harm.
 *
 * @example await writeFile("layover.sql", migrationSql());
 */
export function migrationSql(source: SchemaSource = {}): string {
  const schema = readSchema(source);
  return [
    "begin isolation level read committed;",
    transactionSettings,
    takeTheLock,
    "create schema if not exists layover;",
    bookkeeping,
    unlessNewer(schema),
    ...schema.migrations.map(unlessApplied),
    rememberRights,
    ...schema.functions.map(({ sql }) => sql),
    settleRights(schema),
    recordFunctions(schema),
    "commit;\n",
  ].join("\n");
}

/** How long a migration waits for a table. All that comes to the table after it waits as long, starts of runs included. */
export const lockTimeoutMs = 300;

/**
 * Names resolve in Postgres' own schema only, so one that lacks its schema fails here and not later, in somebody's
 * search_path. Functions may call others that come after them.
 */
export const transactionSettings = `
select set_config(s.name, '0', true) from pg_catalog.pg_settings s
  where s.name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout');
set local lock_timeout = ${lockTimeoutMs};
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
`;

/**
 * The lock that all migrates of a database share. Nobody waits for it inside a statement: such a statement has a snapshot,
 * for whose end a concurrent index waits, while the index's migrate holds the lock.
 */
export const lockKey = "7812089, 1";
export const tryTheLock = `select pg_catalog.pg_try_advisory_xact_lock(${lockKey}) as is_taken;\n`;

const takeTheLock = `do $$ begin
if not pg_catalog.pg_try_advisory_xact_lock(${lockKey}) then
  raise exception 'another migrate of this database is under way: run this again when it has ended';
end if;
end $$;`;

export const bookkeeping = `
create table if not exists layover.migration (
  number      integer primary key,
  name        text not null,
  checksum    text not null,
  is_breaking boolean not null,
  applied_at  timestamptz not null
);
create table if not exists layover.function_set (
  is_current boolean primary key default true check (is_current),
  version    text not null,
  checksum   text not null,
  applied_at timestamptz not null
);
`;

/** A migration may drop functions: from now on they count as those of no version, so they are written again. */
export function recordMigration({ number, name, checksum, isBreaking }: Migration): string {
  return `
insert into layover.migration (number, name, checksum, is_breaking, applied_at)
  values (${number}, ${literal(name)}, ${literal(checksum)}, ${isBreaking}, clock_timestamp());
update layover.function_set set checksum = '';
`;
}

export function recordFunctions({ version, functionsChecksum }: Schema): string {
  return `
insert into layover.function_set (version, checksum, applied_at)
  values (${literal(version)}, ${literal(functionsChecksum)}, clock_timestamp())
  on conflict (is_current) do update
    set version = excluded.version, checksum = excluded.checksum, applied_at = excluded.applied_at;
`;
}

/** Executed as a text, because a block of PL/pgSQL allows less than a script. */
function unlessApplied(migration: Migration): string {
  const quote = `$migration_${migration.checksum.slice(0, 8)}$`;
  return `do $do$ begin
if not exists (select from layover.migration where number = ${migration.number}) then
execute ${quote}${migration.sql}${quote};
${recordMigration(migration)}
end if;
end $do$;`;
}

function unlessNewer({ migrations }: Schema): string {
  return `do $$ begin
if exists (select from layover.migration where number > ${migrations.length}) then
  raise exception 'this database was migrated by newer code, whose functions must not be replaced by older ones';
end if;
end $$;`;
}
