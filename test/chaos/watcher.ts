/**
 * Looks at the rows of all runs that are under way, again and again, and remembers what it saw: what is recorded once
 * must be there, the same, at every later look. It sees past the processes, by a connection of its own.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";

export interface SeenRecord {
  readonly position: number;
  readonly kind: string;
  readonly path: string;
  readonly occurrence: number;
  readonly isFailure: boolean;
  readonly value: string | null;
  readonly recordedAt: string;
  readonly attempts: number;
}

export interface SeenRun {
  readonly runId: string;
  readonly status: string;
  readonly blocked: string | null;
  readonly endedAt: string | null;
  readonly result: string | null;
  readonly error: string | null;
  readonly records: readonly SeenRecord[];
  /** The paths of steps of which an attempt is kept that failed, or never told how it ended. */
  readonly attempted: readonly string[];
  /** Token of the run's callback, once it is known outside. */
  readonly token: string | null;
}

/** Something that must never be. */
export interface Violation {
  readonly runId: string;
  readonly what: string;
}

const lookMs = 100;

const look = `
  select s.run_id as "runId", s.status, s.blocked, s.ended_at::text as "endedAt", s.result, s.error,
      coalesce((select json_agg(json_build_object('position', h.position, 'kind', h.kind, 'path', h.path,
          'occurrence', h.occurrence, 'isFailure', h.is_failure, 'value', h.value, 'recordedAt', h.recorded_at,
          'attempts', h.attempts) order by h.position)
        from layover.record h where h.run_id = s.run_id), '[]') as records,
      (select coalesce(json_agg(distinct a.path), '[]') from layover.attempt a where a.run_id = s.run_id) as attempted,
      (select e.token from chaos.effect e where e.run_id = s.run_id and e.token is not null limit 1) as token
    from layover.run_state s where s.run_id = any ($1)`;

export class Watcher {
  readonly violations: Violation[] = [];
  /** How many deadlocks there were since the server was made. A crash makes the server forget its own count. */
  deadlocks = 0;
  looks = 0;
  /** How many new records its looks have found. */
  recorded = 0;
  readonly #pool: Pool;
  readonly #seen = new Map<string, SeenRun>();
  /** When each run under way was first followed, as `performance.now()` tells it, by run id. */
  readonly #underWay = new Map<string, number>();
  /** How many milliseconds each run that is over took since it was first followed. */
  readonly lives: number[] = [];
  #lastDeadlocks = 0;
  #isOver = false;
  #listeners: (() => void)[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get underWayCount(): number {
    return this.#underWay.size;
  }

  /** How many records each run under way had at the last look. */
  get underWay(): ReadonlyMap<string, number> {
    const seen = [...this.#underWay.keys()].flatMap((runId) => this.#seen.get(runId) ?? []);
    return new Map(seen.map(({ runId, records }) => [runId, records.length]));
  }

  find(runId: string): SeenRun | undefined {
    return this.#seen.get(runId);
  }

  /** Has the looks include a run until it is over. */
  follow(runId: string): void {
    this.#underWay.set(runId, performance.now());
  }

  /** Resolves when a look finds that `isSo` holds of the run; rejects when no more looks are taken. */
  async until(runId: string, isSo: (run: SeenRun) => boolean): Promise<SeenRun> {
    for (;;) {
      const run = this.#seen.get(runId);
      if (run !== undefined && isSo(run)) return run;
      if (this.#isOver) throw new Error(`nobody looks at run ${runId} any more`);
      await new Promise<void>((resolve) => {
        this.#listeners.push(resolve);
      });
    }
  }

  async watch(): Promise<void> {
    while (!this.#isOver) {
      await this.look([...this.#underWay.keys()]).catch(() => {}); // the server is down
      await delay(lookMs);
    }
  }

  /** Ends the looks. Whatever waits for one rejects. */
  close(): void {
    this.#isOver = true;
    this.#tell();
  }

  async look(runIds: readonly string[]): Promise<void> {
    const { rows } = await this.#pool.query<SeenRun>(look, [runIds]);
    const { rows: counts } = await this.#pool.query<{ deadlocks: number }>(
      "select sum(deadlocks)::integer as deadlocks from pg_stat_database",
    );
    const deadlocks = counts[0]?.deadlocks ?? 0;
    this.deadlocks += deadlocks < this.#lastDeadlocks ? deadlocks : deadlocks - this.#lastDeadlocks;
    this.#lastDeadlocks = deadlocks;
    this.looks += 1;
    for (const run of rows) this.#compare(run);
    this.#tell();
  }

  #compare(run: SeenRun): void {
    const { runId } = run;
    const before = this.#seen.get(runId);
    this.#seen.set(runId, run);
    this.recorded += run.records.length - (before?.records.length ?? 0);
    const since = this.#underWay.get(runId);
    if (run.endedAt !== null && since !== undefined) {
      this.#underWay.delete(runId);
      this.lives.push(performance.now() - since);
    }
    for (const [index, record] of (before?.records ?? []).entries()) {
      const now = JSON.stringify(run.records[index]);
      if (now !== JSON.stringify(record)) {
        this.violations.push({ runId, what: `was recorded as ${JSON.stringify(record)}, and is now ${now}` });
      }
    }
    if (before?.endedAt != null && JSON.stringify(run) !== JSON.stringify(before))
      this.violations.push({ runId, what: "has changed after its end" });
  }

  #tell(): void {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}
