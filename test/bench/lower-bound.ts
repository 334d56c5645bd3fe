/**
 * The least that a durable engine of this kind can do, written by hand: what layover is held against.
 *
 * Two statements a step, each a transaction of its own, one run per call. The claim takes a lease and
 * answers the history; the finish gives the lease back, moves the run on and inserts the step, all only
 * while the lease stands. A turn that is lost can be claimed again after a minute, and nothing doubles.
 * There is nothing else: no retries, sleeps, signals, cancelling, limits or checks.
 *
 * It is meant to be hard to beat: named prepared statements, narrow rows, no index on a column that
 * changes (every update is HOT), ids that ascend, and no round trip that could be saved.
 */

import { randomUUID } from "node:crypto";
import { BoundTables } from "./bound-tables.ts";
import type { Body, Contender, Database, Engine } from "./contender.ts";

const CLAIM = {
  name: "claim",
  text: `
    update bound.run
    set token = $3, leased_until = clock_timestamp() + interval '1 minute'
    where id = $1 and turn = $2 and not is_over and (token is null or leased_until < clock_timestamp())
    returning steps, (
      select json_agg(result order by position) from bound.step where run_id = $1 and position > $4
    ) as history`,
};

const FINISH = {
  name: "finish",
  text: `
    with moved as (
      update bound.run
      set token = null, leased_until = null, turn = turn + 1, is_over = (turn + 1 = steps)
      where id = $1 and token = $2
      returning turn
    )
    insert into bound.step (run_id, position, name, result, ended_at)
    select $1, turn, $3, $4, clock_timestamp() from moved`,
};

interface Turn {
  readonly runId: string;
  readonly number: number;
}

interface Options {
  readonly name: string;
  readonly loads: "everything" | "what is new";
}

export function lowerBound({ name, loads }: Options): Contender {
  return {
    name,
    async prepare(database) {
      const bound = new LowerBound(database, loads);
      await bound.make();
      return bound;
    },
  };
}

class LowerBound extends BoundTables implements Engine {
  /** Histories by run, as far as the database has answered them. */
  readonly #kept: Map<string, number[]> | undefined;

  constructor(database: Database, loads: Options["loads"]) {
    super(database);
    this.#kept = loads === "what is new" ? new Map() : undefined;
  }

  async carryOut(runIds: readonly string[], body: Body): Promise<void> {
    // First in, first out, as a dispatcher would: a run's next turn queues behind those of the others.
    const queue: Turn[] = runIds.map((runId) => ({ runId, number: 0 }));
    const worker = async () => {
      for (let turn = queue.shift(); turn !== undefined; turn = queue.shift()) {
        const isOver = await this.#takeTurn(turn, body);
        if (!isOver) queue.push({ runId: turn.runId, number: turn.number + 1 });
      }
    };
    await Promise.all(Array.from({ length: this.connections }, worker));
  }

  /** Claims the run, carries out the step after its history, and records it. Answers whether that was the last. */
  async #takeTurn({ runId, number }: Turn, body: Body): Promise<boolean> {
    const token = randomUUID();
    const { steps, history } = await this.#claim(runId, number, token);
    const step = history.length;
    const result = body(step);

    const finish = await this.pool.query({ ...FINISH, values: [runId, token, "step", JSON.stringify(result)] });
    if (finish.rowCount !== 1) throw new Error(`The lease of turn ${number} of run ${runId} was lost.`);
    return step + 1 === steps;
  }

  async #claim(runId: string, turn: number, token: string): Promise<{ steps: number; history: number[] }> {
    const kept = this.#kept?.get(runId) ?? [];
    const claim = await this.pool.query<{ steps: number; history: number[] | null }>({
      ...CLAIM,
      values: [runId, turn, token, kept.length],
    });
    const run = claim.rows[0];
    if (run === undefined) throw new Error(`Turn ${turn} of run ${runId} could not be claimed.`);
    kept.push(...(run.history ?? []));
    this.#kept?.set(runId, kept);
    return { steps: run.steps, history: kept };
  }
}
