/** layover with runs that start others, continue as new, are undone and repaired. */
import { Pool } from "pg";
import * as z from "zod";
import { type Contract, type Workflow, workflow } from "../../src/core/contract/contract.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess } from "../../src/platform/node/in-process/options.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import type { Contender, LongLivedEngine } from "./contender.ts";
import { Layover } from "./layover.ts";
import { handlersOf, type Work } from "./layover-workflows.ts";

export const layoverLongLived: Contender<LongLivedEngine> = {
  name: "layover",
  async prepare({ url, connections }) {
    const pool = new Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
    await migrate(pool);
    return await LongLived.open(pool, connections);
  },
};

const count = z.object({ count: z.number() });
const leaf = workflow({ name: "leaf", version: 1 });
const family = workflow({ name: "family", version: 1, input: z.object({ others: z.number(), isInARow: z.boolean() }) });
const laps = workflow({ name: "laps", version: 1, input: z.object({ left: z.number(), steps: z.number() }) });
const undone = workflow({ name: "undone", version: 1, input: count });
const repaired = workflow({ name: "repaired", version: 1, input: count });

/** When things happened, in the process's own time. */
interface Diary {
  leafEndedAt: number;
  failedAt: number;
  isMended: boolean;
  readonly hopsMs: number[];
  readonly lapsAt: number[];
}

function longLivedHandlers(diary: Diary): readonly Workflow[] {
  return [
    leaf.handler(async () => {
      diary.leafEndedAt = performance.now();
      return 1;
    }),
    family.handler(async ({ input: { others, isInARow }, step }) => {
      const all = Array.from({ length: others }, (_, place) => place);
      if (!isInARow) return void (await step.map("each", all, (_, { step: one }) => one.invoke("leaf", leaf)));
      for (const _ of all) {
        await step.invoke("leaf", leaf);
        await step.run("note", () => diary.hopsMs.push(performance.now() - diary.leafEndedAt));
      }
    }),
    laps.handler(async ({ input: { left, steps }, step }) => {
      await step.run("begin", () => diary.lapsAt.push(performance.now()));
      for (let done = 1; done < steps; done += 1) await step.run("work", () => done);
      await step.sleepUntil("now", 0); // a lap that waits for nothing is slowed down
      if (left > 0) await step.continueAsNew({ left: left - 1, steps });
    }),
    undone.handler(async ({ input, step }) => {
      for (let place = 0; place < input.count; place += 1)
        await step.run("book", () => place, { compensate: () => place });
      diary.failedAt = performance.now();
      throw new Error("undo it");
    }),
    repaired.handler(async ({ input, step }) => {
      for (let place = 0; place < input.count; place += 1) await step.run("work", () => place);
      await step.run(
        "break",
        () => {
          if (!diary.isMended) throw new Error("broken");
        },
        { retry: { maxAttempts: 1 } },
      );
    }),
  ];
}

class LongLived extends Layover implements LongLivedEngine {
  readonly #diary: Diary;

  static async open(pool: Pool, connections: number): Promise<LongLived> {
    const work: Work = { body: () => 0, ended: () => {}, failure: undefined };
    const diary: Diary = { leafEndedAt: 0, failedAt: 0, isMended: false, hopsMs: [], lapsAt: [] };
    const workflows = [...handlersOf(work), ...longLivedHandlers(diary)];
    const options = { concurrency: connections, warmRuns: 10_000, onError: () => {} };
    const host = await startInProcess({ ...options, database: pg(pool), workflows });
    return new LongLived(pool, host, work, diary);
  }

  private constructor(pool: Pool, host: InProcess, work: Work, diary: Diary) {
    super(pool, host, work, "in a row");
    this.#diary = diary;
  }

  async invoke(others: number): Promise<void> {
    await this.#play(family, { others, isInARow: false });
  }

  async invokeInARow(others: number): Promise<readonly number[]> {
    this.#diary.hopsMs.length = 0;
    await this.#play(family, { others, isInARow: true });
    return [...this.#diary.hopsMs];
  }

  async continueAsNew(count: number, steps: number): Promise<readonly number[]> {
    this.#diary.lapsAt.length = 0;
    await this.#play(laps, { left: count, steps });
    const at = this.#diary.lapsAt;
    return at.slice(1).map((begun, place) => begun - (at[place] ?? begun));
  }

  async undo(steps: number): Promise<number> {
    await this.#play(undone, { count: steps }, "failed");
    return performance.now() - this.#diary.failedAt;
  }

  async retry(steps: number): Promise<number> {
    this.#diary.isMended = false;
    const runId = await this.#play(repaired, { count: steps }, "failed");
    this.#diary.isMended = true;
    const askedAt = performance.now();
    await this.host.client.retry(runId);
    const tookMs = performance.now() - askedAt;
    await this.idle();
    await this.#expect(runId, "completed");
    return tookMs;
  }

  async #play(contract: Contract, input: unknown, status = "completed"): Promise<string> {
    const { runId } = await this.host.client.start(contract, input);
    await this.idle();
    await this.#expect(runId, status);
    return runId;
  }

  async #expect(runId: string, status: string): Promise<void> {
    const view = await this.host.client.get(runId);
    if (view.status !== status) throw new Error(`The run ${runId} is ${view.status}, and not ${status}.`);
  }
}
