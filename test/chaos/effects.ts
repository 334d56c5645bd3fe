/**
 * What steps have done to the world outside, in a table of its own: a row for each time that a body ran, also where its
 * result was never recorded. So it can be told afterwards that each body ran at least once, and which of its results
 * was kept.
 */
import type { Pool } from "pg";

export interface Effect {
  readonly runId: string;
  /** Path of the step, as the history names it. */
  readonly path: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** Id of the process that ran the body. */
  readonly pid: number;
  /** What the body returns if nothing goes wrong. It is a different value each time. */
  readonly value: string;
  /** The results of earlier steps, as the handler saw them this time. */
  readonly seen: readonly string[];
  /** Token with which the outside world may answer a callback. Null where the step announces none. */
  readonly token: string | null;
}

export type Happen = (effect: Effect) => Promise<void>;

export async function makeEffectsTable(pool: Pool): Promise<void> {
  await pool.query(`
    create schema chaos;
    create table chaos.effect (
      number bigint generated always as identity primary key,
      run_id uuid not null,
      path text not null,
      attempt integer not null,
      idempotency_key text not null,
      pid integer not null,
      value text not null unique,
      seen json not null,
      token text,
      at timestamptz not null default clock_timestamp()
    );
    create index on chaos.effect (run_id)`);
}

export function effectsIn(pool: Pool): Happen {
  return async ({ runId, path, attempt, idempotencyKey, pid, value, seen, token }) => {
    await pool.query(
      `insert into chaos.effect (run_id, path, attempt, idempotency_key, pid, value, seen, token)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [runId, path, attempt, idempotencyKey, pid, value, JSON.stringify(seen), token],
    );
  };
}

export async function readEffects(pool: Pool, runIds: readonly string[]): Promise<readonly Effect[]> {
  const { rows } = await pool.query<Effect>(
    `select run_id as "runId", path, attempt, idempotency_key as "idempotencyKey", pid, value, seen, token
       from chaos.effect where run_id = any ($1) order by number`,
    [runIds],
  );
  return rows;
}
