/**
 * The client for programs that do not have the database: the same verbs, over HTTP.
 *
 *   import { HttpClient } from "layover/client";
 *
 *   const client = new HttpClient({ url: "https://example.com/layover", apiKey: env.LAYOVER_API_KEY });
 *   const run = await client.start(order, { amount: 42 }, { id: "o1" });
 *   const { charge } = await run.result({ wait: "30s" });
 *
 * It runs wherever there is `fetch`, in browsers too, and carries no engine. Values travel in the codec, so they arrive
 * as they were. A request that got lost is sent again with the same ids, so nothing happens twice.
 */
import { v7 } from "uuid";
import { toErrorValue } from "../../core/codec/error-value.ts";
import type { Contract, SignalsOf } from "../../core/contract/contract.ts";
import type { InferInput } from "../../core/contract/schema.ts";
import type { StartArguments } from "../../core/contract/startable.ts";
import { toMilliseconds } from "../../core/duration.ts";
import { checkName } from "../../core/names.ts";
import type { HostClock } from "../../core/ports.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import type { ManyVerb, SingleVerb } from "../../postgres/wire-operations.ts";
import { resultOf } from "../ending.ts";
import type { RunFilter } from "../filter.ts";
import type { HistoryOptions, HistoryView } from "../history-view.ts";
import type { ListOptions, Page } from "../listing.ts";
import type { CallbackInputOf, CallbackView, Rejection } from "../mail.ts";
import {
  type LiveFilter,
  type ManyOptions,
  type ManyPage,
  type ManyPageOptions,
  type ManyReceipt,
  manyCall,
} from "../many.ts";
import { OperationVerbs } from "../operation-verbs.ts";
import { type OperationOptions, type OperationReceipt, operationCall } from "../operations.ts";
import type { ForkOptions, ForkReceipt, RepairReceipt, RestartOptions, RestartPlan, RetryOptions } from "../repairs.ts";
import { Run, type SignalOptions, type SignalReceipt, type WaitOptions } from "../run.ts";
import type { RunEnding, RunView } from "../run-view.ts";
import type { SignalWithStartOptions, SignalWithStartReceipt } from "../signal-with-start.ts";
import type { StartOptions } from "../starting.ts";
import type { ClientVerbs } from "../verbs.ts";
import { untilOver } from "../waiting.ts";
import type { WorkflowPage, WorkflowPauseOptions, WorkflowReceipt, WorkflowVerb } from "../workflow-pause.ts";
import { Api, type ApiOptions, pathOf, type RequestOptions } from "./api.ts";
import { callbackPath, datesOf, queryOf, runPath, startRequest } from "./requests.ts";
import { HttpSchedules } from "./schedules.ts";
import { unsealed } from "./sealed-view.ts";

export { TimeoutError } from "../../core/contract/user-errors.ts";
export { type ErrorCode, type ErrorDetails, LayoverError } from "../../core/errors.ts";
export { RunFailedError } from "../run-failed-error.ts";
export { Unreadable } from "../unreadable.ts";
export type { ApiOptions as HttpClientOptions } from "./api.ts";
export type {
  CallbackView,
  ClientVerbs,
  HistoryOptions,
  HistoryView,
  ListOptions,
  LiveFilter,
  ManyOptions,
  ManyReceipt,
  OperationOptions,
  OperationReceipt,
  Page,
  Run,
  RunEnding,
  RunFilter,
  RunView,
  SignalOptions,
  SignalReceipt,
  SignalWithStartOptions,
  SignalWithStartReceipt,
  StartOptions,
  WaitOptions as ResultOptions,
  WorkflowPauseOptions,
  WorkflowReceipt,
};

/** What gateways put up with: many cut at 30 s, Amazon's at 29. */
const longPollMs = 25_000;

/**
 * The verbs of a client over HTTP (ClientVerbs says what each does). Requests take 30 s at most and are made up to 5
 * times; both can be set.
 *
 * @example const client = new HttpClient({ url: "https://example.com/layover", apiKey: env.LAYOVER_API_KEY });
 */
export class HttpClient extends OperationVerbs implements ClientVerbs {
  readonly #api: Api;
  readonly #host: HostClock;
  readonly schedules: HttpSchedules;

  /** @throws LayoverError `invalid_request` for a url or key that is none, `invalid_retry`, `invalid_duration` */
  constructor(options: ApiOptions) {
    const host = options.host ?? hostClock;
    super(host);
    this.#api = new Api(options);
    this.#host = host;
    this.schedules = new HttpSchedules(this.#api);
  }

  async start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<Run<C>> {
    const [input, options = {}] = args;
    const { body, headers } = startRequest(contract, input, options);
    const path = pathOf("v1", "workflows", contract.name, "runs");
    return new Run(this, contract, await this.#post<Started>(path, body, { headers }));
  }

  async signalWithStart<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    { input, dedupeId, signalId = v7(), ...options }: SignalWithStartOptions<C>,
  ): Promise<SignalWithStartReceipt<C>> {
    const { body, headers } = startRequest(contract, input, options);
    const path = pathOf("v1", "workflows", contract.name, "signals", name);
    const sent = { ...body, payload, dedupeId, signalId };
    const receipt = await this.#post<Started & Pick<SignalReceipt, "outcome">>(path, sent, { headers });
    return { run: new Run(this, contract, receipt), outcome: receipt.outcome };
  }

  run<C extends Contract>(contract: C, runId: string): Run<C> {
    return new Run(this, contract, { runId, isNew: false });
  }

  async runById<C extends Contract>(contract: C, id: string): Promise<Run<C>> {
    const { runId } = await this.#get<RunView>(pathOf("v1", "workflows", contract.name, "ids", id));
    return this.run(contract, runId);
  }

  async get(runId: string): Promise<RunView> {
    return await this.#get(runPath(runId));
  }

  async list(options: ListOptions = {}): Promise<Page> {
    const { limit, cursor, ...filter } = options;
    return await this.#get("/v1/runs", { query: { ...queryOf(filter), limit, cursor } });
  }

  async history(runId: string, { after, limit, epoch }: HistoryOptions = {}): Promise<HistoryView> {
    return await this.#get(`${runPath(runId)}/history`, { query: { after, limit, epoch } });
  }

  async result(runId: string, options: WaitOptions = {}): Promise<unknown> {
    return resultOf(await this.waitForEnd(runId, options), options.wait);
  }

  /**
   * The server waits at first; after that it is asked now and then, as the client in process asks the database. A request
   * that gets lost is not sent again once `wait` is over.
   */
  async waitForEnd(runId: string, { wait, abortSignal }: WaitOptions = {}): Promise<RunEnding> {
    const path = `${runPath(runId)}/result`;
    const waitMs = wait === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(wait, { field: "wait" });
    const latest = this.#host.monotonic() + waitMs;
    let pollMs = Math.min(waitMs, longPollMs);
    const read = async () => {
      const patienceMs = latest - this.#host.monotonic();
      const options = { query: { wait: `${pollMs}ms` }, waitMs: pollMs, patienceMs, abortSignal };
      pollMs = 0;
      return await this.#get<RunEnding>(path, options);
    };
    return await untilOver(read, { waitMs, host: this.#host, abortSignal });
  }

  async signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    run: string | { readonly id: string },
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    { contract, dedupeId, signalId = v7() }: SignalOptions & { readonly contract: C },
  ): Promise<SignalReceipt> {
    const path = typeof run === "string" ? runPath(run) : pathOf("v1", "workflows", contract.name, "ids", run.id);
    return await this.#post(`${path}${pathOf("signals", name)}`, {
      payload,
      dedupeId,
      signalId,
      workflow: contract.name,
    });
  }

  /** The contract is for the compiler; the server parses the signal by its own. */
  async retry<C extends Contract>(runId: string, options: RetryOptions<C> = {}): Promise<RepairReceipt> {
    const { epoch, results, sensitive, signal, contract: _, ...asked } = options;
    const { runId: id, ...body } = operationCall(runId, asked);
    return await this.#post(`${runPath(id)}/retry`, { ...body, epoch, results, sensitive, signal });
  }

  async restart<C extends Contract>(runId: string, options: RestartOptions<C> = {}): Promise<RepairReceipt> {
    return await this.#restart(runId, options, undefined);
  }

  async planRestart<C extends Contract>(runId: string, options: RestartOptions<C> = {}): Promise<RestartPlan> {
    return await this.#restart(runId, options, true);
  }

  /** The contract is for the compiler; the server parses the input by its own. */
  async #restart<Answer>(runId: string, options: RestartOptions, dryRun: true | undefined): Promise<Answer> {
    const { epoch, from, input, contract: _, ...asked } = options;
    const { runId: id, ...body } = operationCall(runId, asked);
    return await this.#post(`${runPath(id)}/restart`, { ...body, epoch, from, input, dryRun });
  }

  async fork<C extends Contract>(runId: string, options: ForkOptions<C> = {}): Promise<ForkReceipt> {
    const { epoch, from, input, id, newRunId = v7() } = options;
    return await this.#post(`${runPath(runId)}/fork`, { epoch, from, input, id, newRunId });
  }

  protected async operate(verb: SingleVerb, runId: string, options: OperationOptions): Promise<OperationReceipt> {
    const { runId: id, ...body } = operationCall(runId, options);
    if (verb !== "delete") return await this.#post(`${runPath(id)}/${verb}`, body);
    return unsealed(await this.#api.delete(runPath(id), { query: { ...body } })) as OperationReceipt;
  }

  protected async operatePage(verb: ManyVerb, filter: RunFilter, page: ManyPageOptions): Promise<ManyPage> {
    const { signal, from, ...terms } = page;
    const { filter: checked, verb: _, walk: __, before: ___, ...body } = manyCall(verb, filter, terms);
    return await this.#post(pathOf("v1", "operations", verb), {
      ...body,
      cursor: page.cursor,
      ...(from !== undefined && { from }),
      ...(signal !== undefined && { signal: { name: signal.name, payload: signal.payload } }),
      filter: { ...checked, ...datesOf(checked) },
    });
  }

  protected async changeWorkflowPage(
    verb: WorkflowVerb,
    workflow: string,
    page: ManyPageOptions,
  ): Promise<WorkflowPage> {
    return await this.#post(pathOf("v1", "workflows", checkName(workflow, "workflow"), verb), page);
  }

  async callback(token: string): Promise<CallbackView> {
    return await this.#get(callbackPath(token), { isPublic: true });
  }

  /** The contract is for the compiler; the server checks the value by its own. */
  async resolveCallback<C extends Contract>(
    token: string,
    value: CallbackInputOf<C>,
    _of: { contract: C },
  ): Promise<void> {
    await this.#post(callbackPath(token), value, { isPublic: true });
  }

  async rejectCallback(token: string, reason: Rejection): Promise<void> {
    await this.#post(`${callbackPath(token)}/reject`, toErrorValue(reason), { isPublic: true });
  }

  async wake(): Promise<void> {
    await this.#post("/v1/wake", undefined);
  }

  /** These two alone trust the shape of an answer: it is what the route of that path gives. */
  async #get<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
    return unsealed(await this.#api.get(path, options)) as Answer;
  }

  async #post<Answer>(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return unsealed(await this.#api.post(path, body, options)) as Answer;
  }
}

/** What the routes answer that start a run. */
interface Started {
  readonly runId: string;
  readonly isNew: boolean;
  readonly version?: number | undefined;
}
