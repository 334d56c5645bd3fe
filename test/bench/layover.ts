/** layover itself, as a process of Node's hosts it, on a pool of connections. */
import { encrypted } from "layover/encryption";
import { Pool } from "pg";
import { v7 as ascendingId } from "uuid";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess, InProcessOptions } from "../../src/platform/node/in-process/options.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import type { Body, Contender, FanningEngine, SignalledEngine, WakingEngine } from "./contender.ts";
import { handlersOf, type Manner, signalled, trivial, type Work } from "./layover-workflows.ts";

/** As it is by default: a step is recorded and the next one claimed by one statement. One run per call. */
export const layover = contender("layover", { batch: 1 });

/** All its values are encrypted. */
export const layoverEncrypted = contender("layover, encrypted", { batch: 1, isEncrypted: true });

/** As on platforms that end an invocation after each step. */
export const layoverByStep = contender("layover, a step an invocation", { batch: 1, invocation: { maxSteps: 1 } });

/** A hundred runs per call, as it is by default. */
export const layoverInBatches = contender("layover", {});
export const layoverInBatchesByStep = contender("layover, a step an invocation", { invocation: { maxSteps: 1 } });

/** Steps side by side. */
export const layoverByMap = contender("layover", {}, "map");
export const layoverByPromiseAll = contender("layover, Promise.all", {}, "Promise.all");

type Settings = Pick<InProcessOptions, "batch" | "invocation" | "telemetry"> & { readonly isEncrypted?: boolean };

export function contender(name: string, settings: Settings, manner: Manner = "in a row"): Contender<Layover> {
  return {
    name,
    async prepare({ url, connections }) {
      const pool = new Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
      await migrate(pool);
      return await Layover.begin(pool, { ...settings, concurrency: connections }, manner);
    },
  };
}

export class Layover implements FanningEngine, WakingEngine, SignalledEngine {
  readonly #pool: Pool;
  protected readonly host: InProcess;
  protected readonly work: Work;
  readonly #manner: Manner;

  static async begin(pool: Pool, settings: Settings & { concurrency: number }, manner: Manner): Promise<Layover> {
    const work: Work = { body: () => 0, ended: () => {}, failure: undefined };
    const onError = (error: unknown) => {
      work.failure ??= error;
    };
    const workflows = handlersOf(work);
    const database = settings.isEncrypted ? encrypted(pg(pool), testKeys) : pg(pool);
    const host = await startInProcess({ ...settings, database, workflows, warmRuns: 10_000, onError });
    return new Layover(pool, host, work, manner);
  }

  protected constructor(pool: Pool, host: InProcess, work: Work, manner: Manner) {
    this.#pool = pool;
    this.host = host;
    this.work = work;
    this.#manner = manner;
  }

  async start({ runs, steps }: { runs: number; steps: number }): Promise<readonly string[]> {
    const encodedInput = `1${JSON.stringify({ steps, manner: this.#manner })}`;
    const run = { workflow: "trivial", version: 1, encodedInput };
    return await inTens(runs, async () => {
      const runId = ascendingId();
      await this.host.calls.startRun({ ...run, runId });
      return runId;
    });
  }

  async carryOut(runIds: readonly string[], body: Body): Promise<void> {
    const { dispatch } = this.host;
    this.work.body = body;
    await dispatch.dispatch(
      runIds.map((runId) => ({ runId, turn: 1 })),
      0,
    );
    await this.idle();
  }

  async continuations(runIds: readonly string[]): Promise<number> {
    const views = await Promise.all(runIds.map((runId) => this.host.client.get(runId)));
    // The first turn fans out; the number is that of the turn that would come.
    return views.reduce((sum, { turn }) => sum + turn - 2, 0) / runIds.length;
  }

  async startAt(at: number, { runs, steps }: { runs: number; steps: number }): Promise<readonly string[]> {
    const { client } = this.host;
    const input = { steps, manner: this.#manner };
    return await inTens(runs, async () => (await client.start(trivial, input, { startAt: at })).runId);
  }

  async untilOver(runIds: readonly string[], body: Body): Promise<void> {
    this.work.body = body;
    let left = runIds.length;
    await new Promise<void>((resolve) => {
      this.work.ended = () => {
        left -= 1;
        if (left === 0) resolve();
      };
    });
    this.work.ended = () => {};
    await this.idle();
  }

  async startWaiting(runs: number): Promise<readonly string[]> {
    const runIds = await inTens(runs, async () => (await this.host.client.start(signalled)).runId);
    await this.idle();
    return runIds;
  }

  async signal(runId: string): Promise<void> {
    await this.host.client.signal(runId, "go", 1, { contract: signalled });
    await this.idle();
  }

  async close(): Promise<void> {
    await this.host.close();
    await this.#pool.end();
  }

  /** What was dispatched is over, and recorded. */
  protected async idle(): Promise<void> {
    await this.host.dispatch.idle();
    if (this.work.failure !== undefined) throw this.work.failure;
  }
}

/** So many in a row, ten at a time; answers what each of them answered. */
async function inTens(count: number, act: () => Promise<string>): Promise<readonly string[]> {
  const answers: string[] = [];
  while (answers.length < count) {
    answers.push(...(await Promise.all(Array.from({ length: Math.min(10, count - answers.length) }, act))));
  }
  return answers;
}
