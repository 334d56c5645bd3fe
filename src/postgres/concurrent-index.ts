/**
 * Builds an index while others read and write its table. This cannot be part of a transaction. If it is cut off, it
 * leaves an invalid index behind, and the next migrate drops that and builds it anew. An index that is built and not
 * written down yet is known by its name.
 */
import type { Row } from "../core/ports.ts";
import { literal } from "./literal.ts";
import { LockTaken } from "./lock-waits.ts";
import { lockKey, recordMigration } from "./migration-sql.ts";
import { runSqlFile } from "./run-sql-file.ts";
import type { Script, Session } from "./script.ts";
import { SetupError } from "./setup-error.ts";
import { fileOf, type Migration } from "./sql-files.ts";
import type { Target } from "./target.ts";

/** Builds the index of one migration and writes it down. Answers false if another migrate has done so meanwhile. */
export async function buildConcurrently(session: Session, target: Target, migration: Migration): Promise<boolean> {
  return await session(async (script, backendPid) => {
    await refusePooler(script, backendPid, migration);
    return await withSettings(script, () =>
      withTheLock(script, async () => {
        const [known] = await script(`select from layover.migration where number = ${migration.number}`);
        if (known !== undefined) return false;
        await build(script, target, migration);
        await script(recordMigration(migration));
        return true;
      }),
    );
  });
}

async function build(script: Script, target: Target, migration: Migration): Promise<void> {
  if (migration.concurrent === undefined) return;
  const { index, sql } = migration.concurrent;
  const [found] = await script(`
    select i.indisvalid as is_whole
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'layover' and c.relname = ${literal(index)}`);
  if (found?.["is_whole"] === true) return;
  const file = fileOf(migration);
  if (found !== undefined) await runSqlFile(script, target, file, `drop index concurrently layover.${index}`);
  await runSqlFile(script, target, file, sql);
}

/** Refuses a pooler: behind one, the lock, the index and the settings may end up in different sessions. */
async function refusePooler(script: Script, backendPid: number | undefined, migration: Migration): Promise<void> {
  if (backendPid === undefined) return;
  const [row] = await script("select pg_backend_pid() as pid");
  if (row?.["pid"] === backendPid) return;
  throw new SetupError(
    "pooled_connection",
    `${fileOf(migration)} builds an index, and this connection leads through a pooler.`,
    {
      hint: "Give migrate the address of the server itself, not that of PgBouncer or another pooler.",
    },
  );
}

/** Does the work under the lock. The session holds the lock, since the index is built outside a transaction. */
async function withTheLock<Result>(script: Script, work: () => Promise<Result>): Promise<Result> {
  const [row] = await script(`select pg_try_advisory_lock(${lockKey}) as is_taken`);
  if (row?.["is_taken"] !== true) throw new LockTaken("migrating");
  try {
    return await work();
  } finally {
    // A broken connection has released the lock already.
    await script(`select pg_advisory_unlock(${lockKey})`).catch(() => {});
  }
}

const settings = {
  statement_timeout: "0",
  lock_timeout: "0",
  transaction_timeout: "0",
  idle_session_timeout: "0",
  search_path: "pg_catalog, pg_temp",
};

/**
 * Does the work without time limits, since an index may take long. Afterwards the connection has its own settings
 * again.
 */
async function withSettings<Result>(script: Script, work: () => Promise<Result>): Promise<Result> {
  const names = Object.keys(settings).map(literal).join(", ");
  const [before] = await script(`select json_object_agg(s.name, s.setting) as all from pg_settings s
    where s.name in (${names})`);
  await script(set(settings));
  try {
    return await work();
  } finally {
    await script(set(before?.["all"])).catch(() => {});
  }
}

/** Makes the SQL of settings. It leaves out those that this version of Postgres does not know. */
function set(values: Row[string]): string {
  return `select set_config(v.key, v.value, false) from json_each_text(${literal(JSON.stringify(values))}) as v
    where v.key in (select s.name from pg_settings s)`;
}
