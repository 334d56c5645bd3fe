/**
 * Starts runs, looks at them and talks to them, by calls to the database (what each verb does is said in verbs.ts). The
 * same verbs stand behind HTTP.
 *
 *   const run = await client.start(order, input, { id: input.id });
 *   await run.signal("address", address);
 *   const { charge } = await run.result({ wait: "30s" });
 *
 * Each verb makes its ids once and sends them again when it has to try again, so it may be repeated. A database that
 * cannot be reached is a LayoverError `database_unavailable`.
 */
import type { OpenCallback, SealCallback } from "../../core/contract/callback.ts";
import type { Contract, SignalsOf } from "../../core/contract/contract.ts";
import type { InferInput } from "../../core/contract/schema.ts";
import type { StartArguments } from "../../core/contract/startable.ts";
import { checkName } from "../../core/names.ts";
import type { Query } from "../../core/ports.ts";
import type { ManyVerb, SingleVerb } from "../../postgres/wire-operations.ts";
import { resultOf } from "../ending.ts";
import type { RunFilter } from "../filter.ts";
import type { HistoryOptions, HistoryView } from "../history-view.ts";
import type { ListOptions, Page } from "../listing.ts";
import type { CallbackInputOf, CallbackView, Rejection } from "../mail.ts";
import type { ManyPage, ManyPageOptions } from "../many.ts";
import { OperationVerbs } from "../operation-verbs.ts";
import type { OperationOptions, OperationReceipt } from "../operations.ts";
import type { ForkOptions, ForkReceipt, RepairReceipt, RestartOptions, RestartPlan, RetryOptions } from "../repairs.ts";
import { Run, type SignalOptions, type SignalReceipt, type WaitOptions } from "../run.ts";
import { knownRunId } from "../run-id.ts";
import { type RunEnding, type RunView, runView } from "../run-view.ts";
import type { SignalWithStartOptions, SignalWithStartReceipt } from "../signal-with-start.ts";
import type { StartInOptions, StartOptions } from "../starting.ts";
import type { ClientVerbs } from "../verbs.ts";
import type { WorkflowPage, WorkflowVerb } from "../workflow-pause.ts";
import { Callbacks } from "./callbacks.ts";
import { ClientContext, type ClientContextOptions } from "./client-context.ts";
import { translated } from "./failure.ts";
import { changeWorkflowPage, operate, operatePage } from "./operations.ts";
import { readEnding, readHistory, readPage, readRun } from "./reads.ts";
import { fork, planRestart, restart, retry } from "./repairs.ts";
import { Schedules } from "./schedules.ts";
import { sendSignal } from "./signals.ts";
import { Starts } from "./starts.ts";

export interface ClientOptions extends ClientContextOptions {
  /** Makes a tick happen now. `readyUntil`: as for the engine's tick, if another deployment rings (`isRung`). */
  readonly wake: (readyUntil?: number) => Promise<void>;
  /** Opens a callback's token. Without it this client answers no callbacks. */
  readonly openCallback?: OpenCallback | undefined;
  /** Makes the links to callbacks. Without it this client makes none. */
  readonly sealCallback?: SealCallback | undefined;
}

/**
 * The client of a process that has the database. The `serve` of Node answers one; without the database, use the
 * HttpClient of `layover/client`.
 *
 * @example const run = await client.start(order, { amount: 42 }, { id: "o1" });
 */
export class Client extends OperationVerbs implements ClientVerbs {
  readonly #options: ClientOptions;
  readonly #context: ClientContext;
  readonly #starts: Starts;
  /** The verbs of callbacks for whoever has opened a token already. */
  readonly callbacks: Callbacks;
  readonly schedules: Schedules;

  constructor(options: ClientOptions) {
    const context = new ClientContext(options);
    super(context.host);
    this.#options = options;
    this.#context = context;
    this.#starts = new Starts(this.#context);
    this.callbacks = new Callbacks(this.#context, options);
    this.schedules = new Schedules(this.#context);
  }

  async start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<Run<C>> {
    const [input, options = {}] = args;
    return new Run(this, contract, await this.#starts.start(contract, input, options));
  }

  /**
   * Starts a run inside your own transaction. The run exists once the transaction commits. It begins when its alarm
   * rings, about a minute after `commitWithin`. To make it begin at once, call `wake()` of this client after the
   * COMMIT. A store for large values takes no part in the transaction, so the input may have 1 MiB.
   *
   * @example await client.startIn(pg(connection), order, input, { id, commitWithin: "10s" });
   */
  async startIn<C extends Contract>(
    transaction: Query,
    contract: C,
    ...args: StartArguments<C, StartInOptions>
  ): Promise<Run<C>> {
    const [input, options = {}] = args;
    return new Run(this, contract, await this.#starts.startIn(transaction, contract, input, options));
  }

  async signalWithStart<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalWithStartOptions<C>,
  ): Promise<SignalWithStartReceipt<C>> {
    const { input, dedupeId, signalId, id, ...further } = options;
    const start = { ...further, id: checkName(id, "id") };
    const signal = { contract, name, payload, dedupeId, signalId };
    const { run, outcome } = await this.#starts.startWithSignal(contract, input, start, signal);
    return { run: new Run(this, contract, run), outcome };
  }

  run<C extends Contract>(contract: C, runId: string): Run<C> {
    return new Run(this, contract, { runId, isNew: false });
  }

  async runById<C extends Contract>(contract: C, id: string): Promise<Run<C>> {
    const key = { workflow: contract.name, id: checkName(id, "id"), longestInput: 0 };
    return this.run(contract, (await readRun(this.#context, key)).runId);
  }

  async get(runId: string): Promise<RunView> {
    return runView(await readRun(this.#context, { runId: knownRunId(runId) }));
  }

  async list(options: ListOptions = {}): Promise<Page> {
    return await readPage(this.#context, options);
  }

  async history(runId: string, options: HistoryOptions = {}): Promise<HistoryView> {
    return await readHistory(this.#context, runId, options);
  }

  async result(runId: string, options: WaitOptions = {}): Promise<unknown> {
    return resultOf(await this.waitForEnd(runId, options), options.wait);
  }

  async waitForEnd(runId: string, options: WaitOptions = {}): Promise<RunEnding> {
    return await readEnding(this.#context, runId, options);
  }

  async signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    run: string | { readonly id: string },
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalOptions & { readonly contract: C },
  ): Promise<SignalReceipt> {
    return await sendSignal(this.#context, { ...options, run, name, payload });
  }

  async retry<C extends Contract>(runId: string, options: RetryOptions<C> = {}): Promise<RepairReceipt> {
    return await retry(this.#context, runId, options);
  }

  async restart<C extends Contract>(runId: string, options: RestartOptions<C> = {}): Promise<RepairReceipt> {
    return await restart(this.#context, runId, options);
  }

  async planRestart<C extends Contract>(runId: string, options: RestartOptions<C> = {}): Promise<RestartPlan> {
    return await planRestart(this.#context, runId, options);
  }

  async fork<C extends Contract>(runId: string, options: ForkOptions<C> = {}): Promise<ForkReceipt> {
    return await fork(this.#context, runId, options);
  }

  protected async operate(verb: SingleVerb, runId: string, options: OperationOptions): Promise<OperationReceipt> {
    return await operate(this.#context, verb, runId, options);
  }

  /** Does it to one page of its runs, for whoever asks for the pages himself. The first page also pauses or resumes the workflow. */
  async changeWorkflowPage(verb: WorkflowVerb, workflow: string, options: ManyPageOptions = {}): Promise<WorkflowPage> {
    return await changeWorkflowPage(this.#context, verb, workflow, options);
  }

  /** Does it to one page of the runs that fit, for whoever asks for the pages himself. */
  async operatePage(verb: ManyVerb, filter: RunFilter, options: ManyPageOptions = {}): Promise<ManyPage> {
    return await operatePage(this.#context, verb, filter, options);
  }

  /** Lends what the verbs are made of to a part of layover that few deployments load. */
  within<Answer>(work: (context: ClientContext) => Promise<Answer>): Promise<Answer> {
    return work(this.#context);
  }

  /** The database's time, in epoch milliseconds. */
  now(): Promise<number> {
    return this.#context.now();
  }

  async callback(token: string): Promise<CallbackView> {
    return await this.callbacks.read(this.callbacks.open(token));
  }

  async resolveCallback<C extends Contract>(
    token: string,
    value: CallbackInputOf<C>,
    { contract }: { contract: C },
  ): Promise<void> {
    await this.callbacks.resolve(this.callbacks.open(token), value, contract);
  }

  async rejectCallback(token: string, reason: Rejection): Promise<void> {
    await this.callbacks.reject(this.callbacks.open(token), reason);
  }

  async wake(): Promise<void> {
    await translated(() => this.#context.calls.checkKey());
    await translated(() => this.#options.wake());
    await this.#starts.dispatchStartedIn();
  }

  /** @internal Ticks for another deployment, which has made ready what it does not carry. */
  async ring(readyUntil: number): Promise<void> {
    await translated(() => this.#options.wake(readyUntil));
  }

  /** Makes this client for the holder of that API key. Its verbs refuse once the key is revoked, or the session has ended. */
  by(keyId: string, sessionId?: string): Client {
    return new Client({ ...this.#options, calls: this.#options.calls.by(keyId, sessionId) });
  }
}
