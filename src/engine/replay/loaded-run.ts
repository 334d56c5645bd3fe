/**
 * A run in this process's memory: its handler, and what the process knows of the run's rows: enough to go on without asking again.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { fromStored } from "../../core/codec/stored-value.ts";
import type { Workflow } from "../../core/contract/contract.ts";
import { parse } from "../../core/contract/schema.ts";
import type { Log } from "../../core/contract/step.ts";
import { LayoverError } from "../../core/errors.ts";
import { Execution } from "../../core/replay/execution.ts";
import type { HistoryRecord } from "../../core/replay/history.ts";
import { makeStep } from "../../core/replay/steps.ts";
import type { WireRecord, WireRun } from "../../postgres/wire.ts";
import { digestOf } from "../digest.ts";
import { defaults, type EngineOptions, type LogLevel, type Mistake } from "../options.ts";

export class LoadedRun {
  readonly runId: string;
  readonly epoch: number;
  readonly workflow: Workflow;
  readonly execution: Execution;
  readonly createdAt: number;
  /** Places whose pending row stands, of those demanded up to `rowsThrough`; and until when each of them waits. */
  readonly rows = new Map<string, number | undefined>();
  /** -1: none is known, as after the replay for a branch. */
  rowsThrough = -1;
  /** How many attempts of the inline step failed. */
  readonly failedAttempts = new Map<string, number>();
  /** The size of its input and of its history, as far as the history is known. */
  bytes = 0;
  /** How many bodies run on this handler's closures at present. The handler rests meanwhile. */
  borrowers = 0;
  /** Up to which position the handler was run on before; what it logs beyond is new. */
  handedPosition: number;

  constructor(
    runId: string,
    epoch: number,
    workflow: Workflow,
    execution: Execution,
    createdAt: number,
    handedPosition: number,
  ) {
    this.runId = runId;
    this.epoch = epoch;
    this.workflow = workflow;
    this.execution = execution;
    this.createdAt = createdAt;
    this.handedPosition = handedPosition;
  }

  /**
   * Hands out the next records, in order. Stops where the code diverges. `patience`: up to a second for what the handler
   * awaits of its own; it had that in the first pass too.
   */
  async replay(records: readonly WireRecord[], patience: () => Promise<void>): Promise<void> {
    for (const record of records) {
      if (this.execution.isAwaitingForeign) await this.execution.awaitForeign(patience());
      await this.execution.hand(toRecord(record));
      this.bytes += record[4]?.length ?? 0;
      if (this.execution.divergence !== undefined) return;
    }
  }

  /** Reports a mistake of the handler once, and not again in a replay. */
  warn({ onMistake, onLog }: EngineOptions, code: Mistake["code"], message: string): void {
    if (this.execution.position <= this.handedPosition) return;
    const { runId } = this;
    const workflow = this.workflow.contract.name;
    if (onMistake !== undefined) onMistake({ code, message, runId, workflow });
    else onLog?.({ level: "warn", message, fields: { code }, runId, workflow });
  }

  seed(text: string): Uint8Array {
    return seedOf(this.runId, this.epoch, text);
  }
}

function seedOf(runId: string, epoch: number, text: string): Uint8Array {
  return hmac(sha256, utf8ToBytes(`${runId}/${epoch}`), utf8ToBytes(text));
}

function toRecord([kind, path, occurrence, isFailure, value, recordedAt, attempts]: WireRecord): HistoryRecord {
  return { kind, path, occurrence, isFailure, value, recordedAt, attempts };
}

/**
 * Begins a handler at its first rest.
 *
 * @throws LayoverError `invalid_input`, for a run that was started from SQL with an input its schema refuses
 */
export async function loadRun(
  options: EngineOptions,
  workflow: Workflow,
  claimed: { readonly runId: string; readonly epoch: number; readonly handedPosition: number; readonly run: WireRun },
): Promise<LoadedRun> {
  const { runId, epoch, run } = claimed;
  const { contract } = workflow;
  const stored = fromStored(run.input, "the run's input");
  const input =
    run.isInputParsed || contract.input === undefined
      ? stored
      : await parse(contract.input, stored, { code: "invalid_input", what: "the run's input" });
  const execution = new Execution({ atRest: options.atRest ?? macrotask, createdAt: run.createdAt });
  const loaded = new LoadedRun(runId, epoch, workflow, execution, run.createdAt, claimed.handedPosition);
  loaded.bytes = run.input.length;
  const step = makeStep({
    execution,
    seed: (text) => loaded.seed(text),
    sealCallback: (callback) =>
      sealCallback(options, { ...callback, runId, epoch, workflow: contract.name, version: contract.version }),
    stepTimeoutMs: defaults.stepTimeoutMs,
    digest: digestOf,
    signals: Object.keys(contract.signals),
    callbacks: Object.keys(contract.callbacks),
  });
  const info = {
    runId,
    id: run.userId ?? undefined,
    workflow: contract.name,
    version: contract.version,
    tags: run.tags ?? {},
    createdAt: new Date(run.createdAt),
  };
  await execution.begin(() => workflow.handle({ input, step, run: info, log: logOf(options, loaded) }));
  return loaded;
}

function sealCallback(
  options: EngineOptions,
  callback: Parameters<NonNullable<EngineOptions["sealCallback"]>>[0],
): { url: string; token: string } {
  if (options.sealCallback === undefined) {
    throw new LayoverError(
      "callbacks_unavailable",
      `the callback "${callback.name}" has no address: this deployment has no public URL or no secret`,
      {
        hint: "Set publicUrl and secrets where the workflows are served.",
      },
    );
  }
  return options.sealCallback(callback);
}

function logOf({ onLog }: EngineOptions, loaded: LoadedRun): Log {
  const write = (level: LogLevel) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (loaded.borrowers === 0 && loaded.execution.position <= loaded.handedPosition) return;
    onLog?.({ level, message, fields, runId: loaded.runId, workflow: loaded.workflow.contract.name });
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
