/** layover itself, as a process hosts it: one run per turn, on a pool of connections. */
import { Pool } from "pg";
import { v7 as ascendingId } from "uuid";
import { z } from "zod";
import { workflow } from "../../src/core/contract.ts";
import { Engine } from "../../src/engine/engine.ts";
import { InProcessDispatch } from "../../src/platform/in-process-dispatch.ts";
import { TimerAlarm } from "../../src/platform/timer-alarm.ts";
import { Calls } from "../../src/postgres/calls.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import type { Body, Contender, Database, Engine as Contestant } from "./contender.ts";

const trivial = workflow({ name: "trivial", version: 1, input: z.object({ steps: z.number() }) });

export const layover: Contender = {
  name: "layover",
  async prepare(database) {
    const pool = new Pool({ connectionString: database.url, max: database.connections, idleTimeoutMillis: 0 });
    await migrate(pool);
    return new Layover(pool, database);
  },
};

class Layover implements Contestant {
  readonly #pool: Pool;
  readonly #calls: Calls;
  readonly #dispatch: InProcessDispatch;
  readonly #alarm: TimerAlarm;
  #body: Body = () => 0;
  #failure: unknown;

  constructor(pool: Pool, { connections }: Database) {
    this.#pool = pool;
    this.#alarm = new TimerAlarm(() => void engine.tick());
    this.#calls = new Calls({ query: pg(pool), namespace: "default", alarm: this.#alarm.arm });
    this.#dispatch = new InProcessDispatch({
      carryOut: (turns) => engine.carryOut(turns),
      concurrency: connections,
      batch: 1,
    });
    const workflows = [
      trivial.handler(async ({ input, step }) => {
        for (let count = 0; count < input.steps; count += 1) await step.run("step", () => this.#body(count));
      }),
    ];
    const onError = (error: unknown) => {
      this.#failure ??= error;
    };
    const engine = new Engine({
      calls: this.#calls,
      dispatch: this.#dispatch.dispatch,
      workflows,
      onError,
      warmRuns: 10_000,
    });
  }

  async start({ runs, steps }: { runs: number; steps: number }): Promise<readonly string[]> {
    const ids = Array.from({ length: runs }, () => ascendingId());
    const encodedInput = `1${JSON.stringify({ steps })}`;
    for (let first = 0; first < runs; first += 16) {
      const some = ids.slice(first, first + 16);
      await Promise.all(
        some.map((runId) => this.#calls.startRun({ runId, workflow: "trivial", version: 1, encodedInput })),
      );
    }
    return ids;
  }

  async carryOut(runIds: readonly string[], body: Body): Promise<void> {
    this.#body = body;
    await this.#dispatch.dispatch(
      runIds.map((runId) => ({ runId, turn: 1 })),
      0,
    );
    await this.#dispatch.idle();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async close(): Promise<void> {
    await this.#dispatch.close();
    this.#alarm.close();
    await this.#pool.end();
  }
}
