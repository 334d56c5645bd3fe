/**
 * A file of tests that runs several times in one process, each time with another text of one function: each suite finds
 * its database again, empty, with warm sessions, and with the function of this round. Only who tries mutants of the SQL
 * does so (mutation/test-setup.ts).
 */
import { onServer } from "./fresh-database.ts";
import type { SharedDatabase } from "./shared-database.ts";

interface Round {
  /** The function of this round, which a database of an earlier one is given. */
  readonly sql: string;
  /** How many suites of the file have been met. */
  suites: number;
}

const left = new Map<number, SharedDatabase>();
let current: Round | undefined;

/** Begins a round, or none at all: undefined. */
export function beginRound(sql: string | undefined): void {
  current = sql === undefined ? undefined : { sql, suites: 0 };
}

/** Drops what was left for a next round. */
export async function endRounds(): Promise<void> {
  const databases = [...left.values()];
  left.clear();
  await Promise.all(databases.map((database) => database.drop()));
}

/** Answers the place at which the next suite of this file finds its database, and leaves it. Undefined: the file runs only once. */
export function placeInRound() {
  const round = current;
  if (round === undefined) return undefined;
  const place = round.suites++;
  return {
    async take(): Promise<SharedDatabase | undefined> {
      const database = left.get(place);
      left.delete(place);
      // The setting says that no test makes this alteration: otherwise the database would count as altered (emptying.sql).
      if (database !== undefined) await onServer(database.url, `set layover_test.is_turning = 'yes'; ${round.sql}`);
      return database;
    },
    /** Answers false if the suite could not begin again in it. */
    async leave(database: SharedDatabase): Promise<boolean> {
      if (!database.isFitForAnotherRound || !(await database.empty())) return false;
      left.set(place, database);
      return true;
    },
  };
}
