/** A run as its contract types it, in process or over HTTP: it asks whatever client it came from. */
import type { Contract, SignalsOf } from "../core/contract/contract.ts";
import type { InferInput } from "../core/contract/schema.ts";
import type { ResultOf } from "../core/contract/startable.ts";
import type { Duration } from "../core/duration.ts";
import { resultOf } from "./ending.ts";
import type { HistoryOptions, HistoryView } from "./history-view.ts";
import type { OperationOptions, OperationReceipt } from "./operations.ts";
import type { ForkOptions, ForkReceipt, RepairReceipt, RestartOptions, RestartPlan, RetryOptions } from "./repairs.ts";
import { unknownRun } from "./run-id.ts";
import type { RunEnding, RunView } from "./run-view.ts";

export interface WaitOptions {
  /** How long to wait for the end of the run. Default: until it is over. */
  readonly wait?: Duration | undefined;
  /** Ends the waiting, with its reason. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface SignalOptions {
  /** A second signal of that name and dedupeId to the run is left out. */
  readonly dedupeId?: string | undefined;
  /** Id of this sending (a uuid), made by you. Sending again with the same id does nothing. */
  readonly signalId?: string | undefined;
}

/** The answer to a signal. "sent": the signal is kept for the run. "duplicate": one of that dedupeId had come before. */
export interface SignalReceipt {
  readonly runId: string;
  readonly outcome: "sent" | "duplicate";
}

/** The verbs about one run, of whatever client. */
export interface RunVerbs {
  /** @throws LayoverError `unknown_run` */
  get(runId: string): Promise<RunView>;

  /**
   * Answers what a run did and what it waits for. Its records come a page at a time.
   *
   * @throws LayoverError `unknown_run`, `invalid_request`
   */
  history(runId: string, options?: HistoryOptions): Promise<HistoryView>;

  /** Waits as `result` does, and answers the run's ending as data. When `wait` is over, it answers in any case. */
  waitForEnd(runId: string, options?: WaitOptions): Promise<RunEnding>;

  /**
   * Sends a signal to a run, which is named by our id or by your own. The signal is kept until the run takes it or
   * ends.
   *
   * @throws LayoverError `unknown_signal`, `invalid_payload`, `unknown_run`, `run_over`, `signal_closed`
   */
  signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    run: string | { readonly id: string },
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalOptions & { readonly contract: C },
  ): Promise<SignalReceipt>;

  /**
   * Pauses a run: nothing new begins until it is resumed. Steps that are under way are finished and recorded, and
   * signals and answers are kept.
   *
   * @throws LayoverError `unknown_run`; `not_applicable` if the run is over, cleans up, or waits for its last steps before
   *   it begins with its undos
   */
  pause(runId: string, options?: OperationOptions): Promise<OperationReceipt>;

  /**
   * Lets a paused run go on. What came meanwhile counts, and so do waits that have ended. Its timeout moves on by as
   * long as the pause took.
   *
   * @throws LayoverError `unknown_run`; `not_applicable` if the run is not paused
   */
  resume(runId: string, options?: OperationOptions): Promise<OperationReceipt>;

  /**
   * Asks a run to end. It begins nothing new; a `CancelledError` is thrown where its handler waits; its cleanups
   * (`step.cleanup`) run; then its undos (`compensate`); then it is `cancelled`. A step that is at work is told to stop, and what it returns within a
   * minute is recorded. The runs that it has invoked are asked to end, too. A run that nobody has claimed yet is cancelled at once. The outcome says which: `cancelling` or
   * `cancelled`.
   *
   * @throws LayoverError `unknown_run`; `not_applicable` if the run is over, or ends as failed: it cleans up or is undone after its
   *   timeout, a full history or an error
   */
  cancel(runId: string, options?: OperationOptions): Promise<OperationReceipt>;

  /**
   * Ends a run at once, as `cancelled`. Nothing cleans up, and nothing more is undone. A step that is at work is told to stop, as soon as its
   * process learns it, and its result is not recorded.
   *
   * @throws LayoverError `unknown_run`; `not_applicable` if the run is over
   */
  terminate(runId: string, options?: OperationOptions): Promise<OperationReceipt>;

  /**
   * Deletes a run that is over, and all that is kept of it: its input and result, history, signals, callbacks, tags and
   * operations. Who asked, when and why is kept with the run's id, as long as the run would have been kept. A start of
   * the run that comes late, or again, starts nothing. Your own id of the run is free for another one.
   *
   * @throws LayoverError `unknown_run`; `not_applicable` if the run is not over
   */
  delete(runId: string, options?: OperationOptions): Promise<OperationReceipt>;

  /**
   * Lets a failed run go on: its failures are forgotten, and every success is kept. Steps that failed are carried out again
   * with the same idempotency keys, since the last try may have worked. Of a run that was undone it repeats the undos that
   * failed, and nothing else. If the code no longer fits what is kept, the run is failed again, as it was. A `signal` is sent
   * in the same act.
   *
   * @throws LayoverError `unknown_run`, `not_applicable`; `would_repeat` if something succeeded because of the failure, or a callback
   *   was made because of it; `result_needed`, `child_failed`, `compensated`, `epoch_changed`, `signal_closed`, `unknown_signal`, `invalid_payload`
   */
  retry<C extends Contract>(runId: string, options?: RetryOptions<C>): Promise<RepairReceipt>;

  /**
   * Lets a run begin again, from a step or from its start: what came after is dropped, and not undone. Steps that are carried
   * out again have new idempotency keys. Signals that it had taken after that are taken again. A run can be restarted when it
   * is over, blocked or paused, but not while it closes or is being undone: let it end first, or terminate it.
   *
   * @throws LayoverError `unknown_run`, `unknown_step`, `not_applicable`, `at_work`, `compensated`, `epoch_changed`,
   *   `invalid_input`
   * @example await client.restart(runId, { from: "charge", reason: "wrong amount", by: "ada" });
   */
  restart<C extends Contract>(runId: string, options?: RestartOptions<C>): Promise<RepairReceipt>;

  /** Tells what `restart` would drop, and changes nothing. @throws LayoverError as `restart` */
  planRestart<C extends Contract>(runId: string, options?: RestartOptions<C>): Promise<RestartPlan>;

  /**
   * Starts a new run with a copy of the history of a run that is over, up to a step. The old run stays as it is. The new run
   * never undoes what it has copied, and has the tags of the old one. A `waitForCallback` whose answer it has not copied
   * announces a URL of the new run. The URL of a `createCallback` that a copied step has sent leads to the old run: fork
   * from before it was sent.
   * A run cannot be forked where it waited for a run that it had invoked: `not_applicable`.
   *
   * @throws LayoverError `unknown_run`, `unknown_step`, `not_applicable`, `compensated`, `epoch_changed`, `input_conflict`
   */
  fork<C extends Contract>(runId: string, options?: ForkOptions<C>): Promise<ForkReceipt>;
}

/**
 * One run of a contract. `runId` is all that it is made of: `client.run(order, runId)` gives it again.
 *
 * @example const { charge } = await run.result({ wait: "30s" });
 */
export class Run<C extends Contract> {
  readonly runId: string;
  /** Whether it was this call that started it. */
  readonly isNew: boolean;
  /**
   * Version of the workflow that the run was started with. It may be older than the contract's version, if the run
   * existed already. Undefined: nobody asked the database yet, as after `client.run(order, runId)`.
   */
  readonly version: number | undefined;
  readonly #client: RunVerbs;
  readonly #contract: C;

  constructor(
    client: RunVerbs,
    contract: C,
    { runId, isNew, version }: { runId: string; isNew: boolean; version?: number | undefined },
  ) {
    this.#client = client;
    this.#contract = contract;
    this.runId = runId;
    this.isNew = isNew;
    this.version = version;
  }

  /** @throws LayoverError `unknown_run` */
  get(): Promise<RunView> {
    return this.#client.get(this.runId);
  }

  /** Answers what the run did and what it waits for. Its records come a page at a time. @throws LayoverError `unknown_run` */
  history(options: HistoryOptions = {}): Promise<HistoryView> {
    return this.#client.history(this.runId, options);
  }

  /**
   * Waits until the run is over.
   *
   * @throws RunFailedError if it failed or was cancelled, TimeoutError if it is not over after `wait`
   */
  async result(options: WaitOptions = {}): Promise<ResultOf<C>> {
    const ending = await this.#client.waitForEnd(this.runId, options);
    if (ending.workflow !== this.#contract.name) throw unknownRun({ workflow: this.#contract.name, id: this.runId });
    // The engine parsed it by the output schema of this very contract.
    return resultOf(ending, options.wait) as ResultOf<C>;
  }

  /** @throws LayoverError `unknown_signal`, `invalid_payload`, `unknown_run`, `run_over`, `signal_closed` */
  signal<Name extends keyof SignalsOf<C> & string>(
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalOptions = {},
  ): Promise<SignalReceipt> {
    return this.#client.signal(this.runId, name, payload, { ...options, contract: this.#contract });
  }

  /** Lets nothing new begin until `resume`. @throws LayoverError `unknown_run`, `not_applicable` */
  pause(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#client.pause(this.runId, options);
  }

  /** Lets the run go on. @throws LayoverError `unknown_run`, `not_applicable` */
  resume(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#client.resume(this.runId, options);
  }

  /** Asks the run to clean up, to undo what it did, and to end. @throws LayoverError `unknown_run`, `not_applicable` */
  cancel(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#client.cancel(this.runId, options);
  }

  /** Ends the run at once; nothing cleans up, and nothing more is undone. @throws LayoverError `unknown_run`, `not_applicable` */
  terminate(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#client.terminate(this.runId, options);
  }

  /** Deletes the run, which is over, and all that is kept of it. @throws LayoverError `unknown_run`, `not_applicable` */
  delete(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#client.delete(this.runId, options);
  }

  /** Lets the failed run go on, and keeps what succeeded. @throws LayoverError as `retry` of the client */
  retry(options: RetryOptions<C> = {}): Promise<RepairReceipt> {
    return this.#client.retry(this.runId, options);
  }

  /** Lets the run begin again, from a step or from its start. @throws LayoverError as `restart` of the client */
  restart(options: RestartOptions<C> = {}): Promise<RepairReceipt> {
    return this.#client.restart(this.runId, options);
  }

  /** Tells what `restart` would drop, and changes nothing. @throws LayoverError as `restart` of the client */
  planRestart(options: RestartOptions<C> = {}): Promise<RestartPlan> {
    return this.#client.planRestart(this.runId, options);
  }

  /** Starts a new run with a copy of this one's history. @throws LayoverError as `fork` of the client */
  async fork(options: ForkOptions<C> = {}): Promise<Run<C>> {
    const { runId } = await this.#client.fork(this.runId, options);
    return new Run(this.#client, this.#contract, { runId, isNew: true, version: this.version });
  }
}
