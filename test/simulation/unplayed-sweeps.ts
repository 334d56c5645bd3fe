/** Sweeps that a long time without anything else leaves out, and what they would have written. */
import type pg from "pg";
import { sweepMs } from "../../src/core/waking.ts";
import type { Outside } from "./outside/outside.ts";
import type { ServerClock } from "./server-clock.ts";

interface UnplayedSweepsOptions {
  /** The world's. */
  readonly time: () => number;
  readonly clock: ServerClock;
  readonly outside: Outside;
  readonly pool: pg.Pool;
}

export class UnplayedSweeps {
  readonly #options: UnplayedSweepsOptions;
  /** When something happened the last time; the world's. */
  #passedAt = 0;

  constructor(options: UnplayedSweepsOptions) {
    this.#options = options;
  }

  /**
   * Time has passed. Sweeps that would find nothing are left out. What they would have written is written here: their deployments are seen
   * by the others.
   */
  async pass(): Promise<void> {
    const { clock, outside, pool } = this.#options;
    await clock.turn();
    const time = this.#options.time();
    const isLong = time - this.#passedAt > sweepMs;
    this.#passedAt = time;
    const sweeping = isLong ? (outside.sweeping?.() ?? []) : [];
    if (sweeping.length === 0) return;
    await pool.query(
      `update layover.deployment d set seen_at = greatest(d.seen_at, to_timestamp($1::float8 / 1000)) from json_to_recordset($2) as o (name text, id text)
        where d.name = o.name and d.id = o.id`,
      [clock.read() - sweepMs / 2, JSON.stringify(sweeping)],
    );
  }
}
