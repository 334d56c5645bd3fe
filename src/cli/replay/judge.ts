/** Asks the thread of worker.ts about one run after the other. One that takes too long is ended, and another one begins. */
import { Worker } from "node:worker_threads";
import type { Move, UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import type { ReplayVerdict, StoredRun } from "../../engine/replay/replay-stored.ts";
import { UsageError } from "../usage-error.ts";
import type { FromWorker, ToWorker } from "./worker.ts";

const file = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);
const loadMs = 60_000;
const runMs = 5_000;

export class Judge {
  readonly #module: string | undefined;
  #worker: Worker | undefined;
  /** The versions that the code has, by workflow. */
  versions: Readonly<Record<string, readonly number[]>> = {};
  /** The signatures of its contracts, by workflow and version. */
  signatures: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

  constructor(module: string | undefined) {
    this.#module = module;
  }

  /** @throws UsageError if the module cannot be loaded */
  async begin(): Promise<Worker> {
    const worker = new Worker(file, { workerData: { module: this.#module } });
    const answer = await answerOf(worker, loadMs);
    if (answer?.kind === "ready") {
      this.versions = answer.versions;
      this.signatures = answer.signatures;
      this.#worker = worker;
      return worker;
    }
    await worker.terminate();
    const message = answer?.kind === "failed" ? answer.message : `The workflows were not loaded within ${loadMs} ms.`;
    const hint = answer?.kind === "failed" ? answer.hint : undefined;
    throw new UsageError(message, { hint: hint ?? "It is imported as Node itself would." });
  }

  async judge(stored: StoredRun): Promise<ReplayVerdict> {
    const verdict = await this.#ask({ stored });
    if (verdict.outcome === "refused") throw new Error("a verdict of a move came, and none was asked for");
    return verdict;
  }

  /** Tells whether the run fits another version. */
  async judgeMove(stored: StoredRun, move: Move): Promise<UpgradeVerdict> {
    return await this.#ask({ stored, move });
  }

  async #ask(asked: ToWorker): Promise<UpgradeVerdict> {
    const worker = this.#worker ?? (await this.begin());
    const answering = answerOf(worker, runMs);
    worker.postMessage(asked);
    const answer = await answering;
    if (answer?.kind === "judged") return answer.verdict;
    await this.end();
    const reason = answer?.kind === "failed" ? answer.message : `the code did not come to rest within ${runMs} ms`;
    return { outcome: "blocks", position: 0, reason, expected: undefined, instead: [], asked: [] };
  }

  async end(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }
}

/** Undefined: it took too long. */
function answerOf(worker: Worker, limitMs: number): Promise<FromWorker | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(undefined), limitMs);
    const settle = (answer: FromWorker | undefined) => {
      clearTimeout(timer);
      worker.off("message", settle).off("error", fail);
      resolve(answer);
    };
    const fail = (error: unknown) =>
      settle({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    worker.on("message", settle).on("error", fail);
  });
}
