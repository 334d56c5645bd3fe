/** The SQL that migrate sends besides the files, and the whole migration as one script. */
import { literal } from "./literal.ts";
import { rememberRights, setRights } from "./rights-sql.ts";
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
    setRights(schema),
    recordFunctions(schema),
    "commit;\n",
  ].join("\n");
}

/**
 * How long a migration waits for a table. Everybody who comes to the table after it waits as long, even a start of a
 * run.
 */
export const lockTimeoutMs = 300;

/**
 * Settings under which names are looked up in Postgres' own schema only. A name without a schema fails here, and not
 * later in somebody's search_path. Functions may call others that are created after them.
 */
export const transactionSettings = `
select set_config(s.name, '0', true) from pg_catalog.pg_settings s
  where s.name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout');
set local lock_timeout = ${lockTimeoutMs};
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
`;

/**
 * The lock that all migrates of a database share. No statement waits for it. A statement that waits holds a snapshot,
 * and a concurrent index waits until that snapshot ends, while its migrate holds the lock: a deadlock.
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

/**
 * Records a migration. It may have dropped functions. So the functions count as those of no version, and are written
 * again.
 */
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
