/** Time that passes only when a test says so, until a test lets it go on by itself. */
import type { Query } from "../../src/core/ports.ts";

export interface Clock {
  /** An instant, as a date or in epoch milliseconds. */
  set(instant: number | Date): Promise<void>;
  /** Answers what it is then. */
  advance(ms: number): Promise<number>;
  now(): Promise<number>;
  /** Lets it go on by itself, too, as the clock of a process does that is not replaced. */
  goOn(): Promise<void>;
}

/** Noon on 1 January 2026 (UTC). */
const noon = Date.UTC(2026, 0, 1, 12);

const epochMs = "(extract(epoch from now_at) * 1000)::float8";
const ms = `${epochMs} as ms`;
const step = "$1::float8 * interval '1 millisecond'";

/** The statement that sets such a clock. Its one value are epoch milliseconds. */
export const settingOfClock = `update layover_test.clock set now_at = timestamptz 'epoch' + ${step} returning ${ms}`;

/**
 * Replaces the clock of a test database, for all its connections, by a row of a table. It is stopped at noon on
 * 1 January 2026 (UTC) until somebody turns it.
 */
export async function turnableClock(query: Query): Promise<Clock> {
  await query(`do $$ begin
    -- The suite turns the clock in each of its tests, so a database that they share counts as unaltered (emptying.sql).
    perform set_config('layover_test.is_turning', 'yes', true);
    create schema if not exists layover_test;
    drop table if exists layover_test.clock;
    create table layover_test.clock as select timestamptz '2026-01-01 12:00Z' as now_at;
    create or replace function layover.now() returns timestamptz
      language sql volatile as 'select now_at from layover_test.clock';
  end $$`);
  return clockOf(query);
}

/** The clock of a database where it is replaced already, stopped at noon again. */
export async function turnedBack(query: Query): Promise<Clock> {
  const clock = clockOf(query);
  await clock.set(noon);
  return clock;
}

function clockOf(query: Query): Clock {
  const read = async (statement: string, ms?: number): Promise<number> => {
    const [row] = await query(statement, ms === undefined ? [] : [ms]);
    return Number(row?.["ms"]);
  };
  return {
    async set(instant) {
      await read(settingOfClock, Number(instant));
    },
    advance: async (by) => await read(`update layover_test.clock set now_at = now_at + ${step} returning ${ms}`, by),
    now: async () => await read(`select floor(${epochMs}) as ms from (select layover.now() as now_at) as it`),
    async goOn() {
      await query(`do $$ begin
        alter table layover_test.clock add column since timestamptz not null default clock_timestamp();
        create or replace function layover.now() returns timestamptz
          language sql volatile as 'select now_at + (clock_timestamp() - since) from layover_test.clock';
      end $$`);
    },
  };
}
