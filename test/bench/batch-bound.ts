/**
 * The least that batch turns can cost, written by hand: as in lower-bound.ts, but a call carries many runs.
 *
 * One set-based statement claims the runs of a batch, under one token for all of them, and one finishes them. Batches
 * never share a run, so there is no order of locks to keep. (Keeping the histories in memory makes it no faster.)
 */

import { randomUUID } from "node:crypto";
import { BoundTables } from "./bound-tables.ts";
import type { Body, Contender, Database, Engine } from "./contender.ts";

const CLAIM = {
  name: "claim",
  text: `
    update bound.run r
    set token = $3, leased_until = clock_timestamp() + interval '1 minute'
    from unnest($1::uuid[], $2::integer[]) as t (id, turn)
    where r.id = t.id and r.turn = t.turn and not r.is_over
      and (r.token is null or r.leased_until < clock_timestamp())
    returning r.id, r.steps, (
      select json_agg(s.result order by s.position) from bound.step s where s.run_id = r.id
    ) as history`,
};

const FINISH = {
  name: "finish",
  text: `
    with moved as (
      update bound.run r
      set token = null, leased_until = null, turn = r.turn + 1, is_over = (r.turn + 1 = r.steps)
      from unnest($1::uuid[], $3::text[]) as t (id, result)
      where r.id = t.id and r.token = $2
      returning r.id, r.turn, t.result
    )
    insert into bound.step (run_id, position, name, result, ended_at)
    select id, turn, 'step', result::json, clock_timestamp() from moved`,
};

interface Turn {
  readonly runId: string;
  readonly number: number;
}

export function batchBound({ batch }: { readonly batch: number }): Contender {
  return {
    name: "bound",
    async prepare(database) {
      const bound = new BatchBound(database, batch);
      await bound.make();
      return bound;
    },
  };
}

class BatchBound extends BoundTables implements Engine {
  readonly #batch: number;

  constructor(database: Database, batch: number) {
    super(database);
    this.#batch = batch;
  }

  async carryOut(runIds: readonly string[], body: Body): Promise<void> {
    const queue: Turn[] = runIds.map((runId) => ({ runId, number: 0 }));
    const worker = async () => {
      for (let turns = queue.splice(0, this.#batch); turns.length > 0; turns = queue.splice(0, this.#batch)) {
        queue.push(...(await this.#takeTurns(turns, body)));
      }
    };
    await Promise.all(Array.from({ length: this.connections }, worker));
  }

  /** Claims the runs, carries out a step of each, and records them. Answers the turns that are next. */
  async #takeTurns(turns: readonly Turn[], body: Body): Promise<readonly Turn[]> {
    const token = randomUUID();
    const ids = turns.map(({ runId }) => runId);
    const claim = await this.pool.query<{ id: string; steps: number; history: number[] | null }>({
      ...CLAIM,
      values: [ids, turns.map(({ number }) => number), token],
    });
    if (claim.rowCount !== turns.length) throw new Error(`Of ${turns.length} turns, ${claim.rowCount} were claimed.`);

    const next: Turn[] = [];
    const results: string[] = [];
    for (const { id, steps, history } of claim.rows) {
      const step = history?.length ?? 0;
      results.push(JSON.stringify(body(step)));
      if (step + 1 < steps) next.push({ runId: id, number: step + 1 });
    }
    const finish = await this.pool.query({ ...FINISH, values: [claim.rows.map(({ id }) => id), token, results] });
    if (finish.rowCount !== turns.length) throw new Error(`Of ${turns.length} leases, some were lost.`);
    return next;
  }
}
