/** layover itself, as a process of Node's hosts it: on a pool of connections, one run per call. */
import { Pool } from "pg";
import { v7 as ascendingId } from "uuid";
import * as z from "zod";
import { workflow } from "../../src/core/contract.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "../../src/platform/in-process.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import type { Body, Contender, Engine } from "./contender.ts";

const trivial = workflow({ name: "trivial", version: 1, input: z.object({ steps: z.number() }) });

/** As it is by default: a step is recorded and the next one claimed by one statement. */
export const layover: Contender = contender("layover");

/** As on platforms that end an invocation after each step. */
export const layoverByStep: Contender = contender("layover, a step an invocation", { maxSteps: 1 });

function contender(name: string, invocation?: InProcessOptions["invocation"]): Contender {
  return {
    name,
    async prepare({ url, connections }) {
      const pool = new Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
      await migrate(pool);
      return await Layover.begin(pool, { concurrency: connections, invocation });
    },
  };
}

class Layover implements Engine {
  readonly #pool: Pool;
  readonly #host: InProcess;
  readonly #work: Work;

  static async begin(pool: Pool, options: Pick<InProcessOptions, "concurrency" | "invocation">): Promise<Layover> {
    const work: Work = { body: () => 0, failure: undefined };
    const handled = trivial.handler(async ({ input, step }) => {
      for (let count = 0; count < input.steps; count += 1) await step.run("step", () => work.body(count));
    });
    const onError = (error: unknown) => {
      work.failure ??= error;
    };
    const database = pg(pool);
    const settings = { ...options, database, workflows: [handled], batch: 1, warmRuns: 10_000, onError };
    return new Layover(pool, await startInProcess(settings), work);
  }

  private constructor(pool: Pool, host: InProcess, work: Work) {
    this.#pool = pool;
    this.#host = host;
    this.#work = work;
  }

  async start({ runs, steps }: { runs: number; steps: number }): Promise<readonly string[]> {
    const ids = Array.from({ length: runs }, () => ascendingId());
    const run = { workflow: "trivial", version: 1, encodedInput: `1${JSON.stringify({ steps })}` };
    for (let first = 0; first < runs; first += 16) {
      const some = ids.slice(first, first + 16);
      await Promise.all(some.map((runId) => this.#host.calls.startRun({ ...run, runId })));
    }
    return ids;
  }

  async carryOut(runIds: readonly string[], body: Body): Promise<void> {
    const { dispatch } = this.#host;
    this.#work.body = body;
    const turns = runIds.map((runId) => ({ runId, turn: 1 }));
    await dispatch.dispatch(turns, 0);
    await dispatch.idle();
    if (this.#work.failure !== undefined) throw this.#work.failure;
  }

  async close(): Promise<void> {
    await this.#host.close();
    await this.#pool.end();
  }
}

/** What the workflow does at each step, and what went wrong. */
interface Work {
  body: Body;
  failure: unknown;
}
