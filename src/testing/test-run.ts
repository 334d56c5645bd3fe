/** A run in a test engine: how a test looks at it, sends to it, and carries it on. */
import type { HistoryView, PendingView } from "../client/history-view.ts";
import type { CallbackInputOf, Rejection } from "../client/mail.ts";
import type { OperationOptions, OperationReceipt } from "../client/operations.ts";
import type { ForkOptions, RepairReceipt, RestartOptions, RetryOptions } from "../client/repairs.ts";
import type { SignalOptions, SignalReceipt } from "../client/run.ts";
import { isOver, type RunStatus, type RunView } from "../client/run-view.ts";
import type { CallbacksOf, Contract, SignalsOf } from "../core/contract/contract.ts";
import type { InferInput } from "../core/contract/schema.ts";
import type { ResultOf } from "../core/contract/startable.ts";
import { TestKitError } from "./kit-error.ts";
import type { Stage } from "./stage.ts";

/** What a run of this contract may wait for from outside. */
export type WaitNameOf<C> = (keyof SignalsOf<C> | keyof CallbacksOf<C>) & string;

/** One callback of a run, to be answered as the outside system would. */
export interface TestCallback<C extends Contract, Name extends keyof CallbacksOf<C> & string> {
  /** The token that the workflow has announced. */
  readonly token: string;
  /** @throws LayoverError `invalid_payload`, `callback_conflict`, `callback_expired` */
  resolve(answer: InferInput<CallbacksOf<C>[Name]>): Promise<void>;
  /** The wait throws a CallbackRejectedError. @throws LayoverError `callback_conflict`, `callback_expired` */
  reject(reason: Rejection): Promise<void>;
}

/**
 * One run in a test engine.
 *
 * @example
 * const run = await t.start(order, input);
 * await run.untilWaiting("approval");
 * await run.callback("approval").resolve({ ok: true });
 * expect(await run.result()).toEqual({ charge: "c1" });
 */
export class TestRun<C extends Contract> {
  readonly runId: string;
  readonly #contract: C;
  readonly #stage: Stage;
  readonly #answered = new Set<string>();

  constructor(stage: Stage, contract: C, runId: string) {
    this.#stage = stage;
    this.#contract = contract;
    this.runId = runId;
  }

  /** The run as the client shows it. @example expect(await run.get()).toMatchObject({ status: "sleeping" }) */
  get(): Promise<RunView> {
    return this.#stage.ask((client) => client.get(this.runId));
  }

  /** @example expect(await run.status()).toBe("waiting") */
  async status(): Promise<RunStatus> {
    return (await this.get()).status;
  }

  /** What it did, what failed on the way, what it waits for. @example expect((await run.history()).records).toHaveLength(3) */
  history(): Promise<HistoryView> {
    return this.#stage.ask((client) => client.history(this.runId, { limit: 1_000 }));
  }

  /**
   * Sends a signal; it is kept until the run takes it, also if nobody waits yet.
   *
   * @example await run.signal("address", { street: "1 Main St", city: "Turin" });
   * @throws LayoverError `invalid_payload`, `run_over`
   */
  signal<Name extends keyof SignalsOf<C> & string>(
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalOptions = {},
  ): Promise<SignalReceipt> {
    const contract = this.#contract;
    return this.#stage.ask((client) => client.signal(this.runId, name, payload, { ...options, contract }));
  }

  /**
   * Pauses the run: nothing new begins until it is resumed.
   *
   * @example await run.pause({ reason: "their API is down" });
   * @throws LayoverError `not_applicable`
   */
  pause(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#stage.ask((client) => client.pause(this.runId, options));
  }

  /** Lets the paused run go on. @example await run.resume(); @throws LayoverError `not_applicable` */
  resume(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#stage.ask((client) => client.resume(this.runId, options));
  }

  /** Asks the run to clean up and end, as cancelled. @example await run.cancel({ reason: "ordered twice" }); @throws LayoverError `not_applicable` */
  cancel(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#stage.ask((client) => client.cancel(this.runId, options));
  }

  /** Ends the run at once, as cancelled. @example await run.terminate({ reason: "a test" }); @throws LayoverError `not_applicable` */
  terminate(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#stage.ask((client) => client.terminate(this.runId, options));
  }

  /** Deletes the run, which is over, and all that is kept of it. @example await run.delete(); @throws LayoverError `not_applicable` */
  delete(options: OperationOptions = {}): Promise<OperationReceipt> {
    return this.#stage.ask((client) => client.delete(this.runId, options));
  }

  /** Lets the failed run go on, and keeps what succeeded. @example await run.retry(); @throws LayoverError `not_applicable`, `would_repeat` */
  retry(options: RetryOptions<C> = {}): Promise<RepairReceipt> {
    return this.#stage.ask((client) => client.retry(this.runId, options));
  }

  /** Lets the run begin again, from a step or from its start. @example await run.restart({ from: "charge" }); @throws LayoverError `not_applicable` */
  restart(options: RestartOptions<C> = {}): Promise<RepairReceipt> {
    return this.#stage.ask((client) => client.restart(this.runId, options));
  }

  /** Starts a new run with a copy of this one's history. @example const again = await run.fork({ from: "charge" }); @throws LayoverError `not_applicable` */
  async fork(options: ForkOptions<C> = {}): Promise<TestRun<C>> {
    const { runId } = await this.#stage.ask((client) => client.fork(this.runId, options));
    return new TestRun(this.#stage, this.#contract, runId);
  }

  /**
   * A callback that the workflow has made. Of several of one name the first that was not answered by the test yet, or
   * the one at `path`.
   *
   * @example await run.callback("approval").reject("too expensive");
   * @throws TestKitError `not_waiting` if the workflow has made none yet
   */
  callback<Name extends keyof CallbacksOf<C> & string>(
    name: Name,
    { path }: { readonly path?: string } = {},
  ): TestCallback<C, Name> {
    const tokens = this.#stage.callbacks.tokens(
      (ref) => ref.runId === this.runId && ref.name === name && (path === undefined || ref.path === path),
    );
    const token = tokens.find((candidate) => !this.#answered.has(candidate)) ?? tokens.at(-1);
    if (token === undefined) {
      const where = path === undefined ? "" : ` at ${JSON.stringify(path)}`;
      throw new TestKitError("not_waiting", `The run has made no callback ${JSON.stringify(name)}${where} yet.`, {
        hint: `Let it come there first: await run.untilWaiting(${JSON.stringify(name)}).`,
      });
    }
    const contract = this.#contract;
    return {
      token,
      resolve: async (answer) => {
        this.#answered.add(token);
        const value: CallbackInputOf<C> = answer;
        await this.#stage.ask((client) => client.resolveCallback(token, value, { contract }));
      },
      reject: async (reason) => {
        this.#answered.add(token);
        await this.#stage.ask((client) => client.rejectCallback(token, reason));
      },
    };
  }

  /**
   * Carries out all that is due now; then the run must be waiting for this signal or callback. No time passes: where it
   * sleeps or retries before, `advance` first.
   *
   * @example await run.untilWaiting("approval");
   * @throws TestKitError `not_waiting`, which tells what it does instead; `not_deterministic`
   */
  async untilWaiting(name: WaitNameOf<C>): Promise<void> {
    await this.#stage.play({ mayHang: true });
    await this.#stage.checkDeterminism(this.runId);
    const { pending } = await this.history();
    if (pending.some((wait) => isWaitFor(wait, name))) return;
    throw new TestKitError(
      "not_waiting",
      `The run does not wait for ${JSON.stringify(name)}: ${await this.#describe()}.`,
      {
        hint: "Time passes only by advance().",
      },
    );
  }

  /**
   * Carries out all that is due now; then the run must be over. No time passes.
   *
   * @example expect(await run.result()).toEqual({ charge: "c1" });
   * @throws RunFailedError if it failed or was cancelled; TestKitError `not_over`, which tells what it does instead, and `not_deterministic`
   */
  async result(): Promise<ResultOf<C>> {
    await this.#stage.play({ mayHang: true });
    await this.#stage.checkDeterminism(this.runId);
    if (!isOver(await this.status())) {
      throw new TestKitError("not_over", `The run is not over: ${await this.#describe()}.`, {
        hint: "Time passes only by advance().",
      });
    }
    return await this.#stage.ask((client) => client.run(this.#contract, this.runId).result());
  }

  async #describe(): Promise<string> {
    const [{ status, blocked, setback, error, readyAt }, { pending, attempts }] = [
      await this.get(),
      await this.history(),
    ];
    const about = [
      ...(blocked === undefined ? [] : [blocked]),
      ...(setback === undefined ? [] : [`${setback.reason}; it is tried again at ${setback.until.toISOString()}`]),
      ...(error === undefined ? [] : [`${error.name}: ${error.message}`]),
      ...(status === "queued" && readyAt !== undefined ? [`ready from ${readyAt.toISOString()} on`] : []),
      ...pending.map(describeWait),
      ...attempts.slice(-1).map((last) => `the last failure was ${last.path}: ${last.error?.message ?? "unreadable"}`),
      ...this.#stage.underWay,
    ];
    return [`it is ${status}`, ...about, `now it is ${new Date(this.#stage.now).toISOString()}`].join("; ");
  }
}

function isWaitFor({ kind, signal, path }: PendingView, name: string): boolean {
  return kind === "signal" ? signal === name : kind === "callback" && path.slice(path.lastIndexOf("/") + 1) === name;
}

function describeWait({ kind, path, until, readyAt }: PendingView): string {
  const instant = until ?? readyAt;
  return `${kind} ${JSON.stringify(path)}${instant === undefined ? "" : ` until ${instant.toISOString()}`}`;
}
