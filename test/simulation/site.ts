/** The real database that worlds are played in, one after the other. */
import { Pool } from "pg";
import type { Query } from "../../src/core/ports.ts";
import { pg } from "../../src/postgres/pg.ts";
import { type Clock, turnableClock } from "../postgres/clock.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { type Line, openLine } from "./line.ts";
import { type Lag, Sessions, unhurried } from "./sessions.ts";

export interface Site {
  readonly pool: Pool;
  readonly query: Query;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly line: Line;
  /** Turns the clock of the line and of the sessions, to an instant in epoch milliseconds. */
  turnTo(at: number): Promise<void>;
  /** Nothing of the last world is left. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** What migrate wrote stays. */
export async function openSite(serverUrl: string, { lag }: { readonly lag?: Lag } = {}): Promise<Site> {
  const database = await freshDatabase(serverUrl);
  const pool = new Pool({ connectionString: database.url, max: 3 });
  pool.on("error", () => {});
  const query = pg(pool, unhurried);
  const line = await openLine(database.url);
  const sessions = new Sessions(database.url, { lag, beforeLending: () => line.settle() });
  const clock = await turnableClock(query);
  await pool.query("create table layover_test.booking (run_id uuid not null, key text not null)");
  const everything = "select layover_test.delete_rows(); delete from layover_test.booking";
  return {
    pool,
    query,
    clock,
    sessions,
    line,
    async turnTo(at) {
      line.turnTo(at);
      if (sessions.isAnyLent) await line.settle();
    },
    clear: async () => void (await pool.query(everything)),
    close: async () => {
      await sessions.end();
      await line.close();
      await pool.end();
      await database.drop();
    },
  };
}
