/** What migrate waits for: another migrate, or sessions that use a table which it has to change. */
import { type HostClock, QueryError, type Row } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import { lockKey, lockTimeoutMs } from "./migration-sql.ts";
import type { Script, Transaction } from "./script.ts";

/** A session that holds a lock which migrate needs. */
export interface Blocker {
  /** The id of its server process. Null: it is a prepared transaction, which no process holds. */
  readonly pid: number | null;
  /** The name that it gives itself, such as `psql`. Empty if it has none. */
  readonly application: string;
  /** How long its transaction has been open, in milliseconds. Null if this role may not know. */
  readonly openMs: number | null;
}

export interface Wait {
  /** `migrating`: another migrate is under way. `locked`: somebody uses a table that a file has to change. */
  readonly reason: "migrating" | "locked";
  /** The file that could not be run: `migrations/0002_more.sql`. */
  readonly file: string | undefined;
  /**
   * The sessions that hold the lock now: the one with the oldest transaction first, five at most. Empty if they have
   * just released it.
   */
  readonly blockers: readonly Blocker[];
  /** How long migrate pauses before it tries again. */
  readonly pauseMs: number;
}

/** An attempt of migrate that changed nothing because somebody else holds a lock. */
export class LockTaken extends Error {
  override readonly name = "LockTaken";
  readonly reason: Wait["reason"];
  readonly file: string | undefined;

  constructor(reason: Wait["reason"], file?: string) {
    super(`a lock is taken: ${reason}`);
    this.reason = reason;
    this.file = file;
  }
}

export interface Patience {
  readonly transaction: Transaction;
  readonly host: HostClock;
  readonly onWait: (wait: Wait) => void;
}

/**
 * The pause after a wait for a table. While migrate waits, everybody who comes to the table waits behind it. The pause
 * is ten times as long as the wait, so the others have the table for ten elevenths of the time.
 */
const lockedPauseMs = 10 * lockTimeoutMs;
const migratingPauseMs = 250;

/** Tries until nobody holds a lock that the attempt needs. Between attempts it pauses and holds no lock itself. */
export async function patiently<Result>(
  { transaction, host, onWait }: Patience,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof LockTaken)) throw error;
      const { reason, file } = error;
      const blockers = await transaction((script) => readBlockers(script, reason));
      const pauseMs = reason === "locked" ? lockedPauseMs : migratingPauseMs;
      onWait({ reason, file, blockers, pauseMs });
      await pause(host, pauseMs);
    }
  }
}

/** Whether a statement failed because others hold a lock: it waited too long, or it was part of a deadlock. */
export function isLockedOut(error: unknown): boolean {
  return error instanceof QueryError && (error.sqlState === "55P03" || error.sqlState === "40P01");
}

const holders: Readonly<Record<Wait["reason"], string>> = {
  migrating: `l.locktype = 'advisory' and (l.classid, l.objid) = (${lockKey}) and l.objsubid = 2`,
  locked: `l.locktype = 'relation' and l.relation in (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'layover')`,
};

/**
 * Reads who holds the lock. A transaction that is younger than the wait cannot have caused the wait, so it is left out.
 */
async function readBlockers(script: Script, reason: Wait["reason"]): Promise<readonly Blocker[]> {
  const rows = await script(`
    select h.pid, coalesce(a.application_name, '') as application,
      round(extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 as open_ms
    from (
      select distinct l.pid from pg_locks l
       where l.granted and l.pid is distinct from pg_backend_pid() and ${holders[reason]}
         and l.database = (select d.oid from pg_database d where d.datname = current_database())) as h
      left join pg_stat_activity a on a.pid = h.pid
     where ${reason === "migrating"} or a.xact_start is null
       or a.xact_start < clock_timestamp() - interval '${lockTimeoutMs} milliseconds'
     order by a.xact_start, h.pid limit 5`);
  return rows.map(toBlocker);
}

function toBlocker(row: Row): Blocker {
  return {
    pid: row["pid"] === null ? null : Number(row["pid"]),
    application: String(row["application"]),
    openMs: row["open_ms"] === null ? null : Number(row["open_ms"]),
  };
}
