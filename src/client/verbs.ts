/**
 * The verbs of a client. The verbs about one run are in run.ts (`RunVerbs`). A process that has the database carries them
 * out itself (over-postgres/client.ts). Any other program asks such a process over HTTP (over-http/http-client.ts).
 */
import type { Contract, SignalsOf } from "../core/contract/contract.ts";
import type { InferInput } from "../core/contract/schema.ts";
import type { StartArguments } from "../core/contract/startable.ts";
import type { RunFilter } from "./filter.ts";
import type { ListOptions, Page } from "./listing.ts";
import type { CallbackInputOf, CallbackView, Rejection } from "./mail.ts";
import type {
  DeleteRunsOptions,
  LiveFilter,
  ManyOptions,
  ManyReceipt,
  RestartFilter,
  RestartRunsOptions,
} from "./many.ts";
import type { Run, RunVerbs, WaitOptions } from "./run.ts";
import type { ScheduleVerbs } from "./schedules.ts";
import type { SignalWithStartOptions, SignalWithStartReceipt } from "./signal-with-start.ts";
import type { StartOptions } from "./starting.ts";
import type { WorkflowPauseOptions, WorkflowReceipt } from "./workflow-pause.ts";

/**
 * Each verb makes its ids once and sends them again when it has to try again, so it may be repeated. What any of them
 * may throw is a LayoverError with a `code`, as `database_unavailable`; over HTTP also `unreachable`, `unauthorized` …
 */
export interface ClientVerbs extends RunVerbs {
  /**
   * Starts a run. The input is parsed by the contract's schema, and what the schema makes of it is stored.
   *
   * @throws LayoverError `invalid_input`; `input_conflict` if the id is taken by a run with another input
   * @example const run = await client.start(order, { amount: 42 }, { id: "o1", delay: "10s" });
   */
  start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<Run<C>>;

  /**
   * Sends a signal to the run with your own id, and starts that run first unless it is there. Both happen in one
   * statement, or nothing does. A run that is there gets the signal whatever its input is.
   *
   * @throws LayoverError as `start` and `signal`: `run_over` if the run of that id is over
   * @example await client.signalWithStart(cart, "item", { sku: "lamp" }, { id: "c1", input: { customer: "ada" } });
   */
  signalWithStart<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalWithStartOptions<C>,
  ): Promise<SignalWithStartReceipt<C>>;

  /** A run that you know to be one of this contract's. Asks nothing yet. */
  run<C extends Contract>(contract: C, runId: string): Run<C>;

  /** The run with your own id. @throws LayoverError `unknown_run` */
  runById<C extends Contract>(contract: C, id: string): Promise<Run<C>>;

  /** Runs of this namespace, newest first, a page at a time. @throws LayoverError `invalid_cursor`, `invalid_request` */
  list(options?: ListOptions): Promise<Page>;

  /**
   * Waits until the run is over.
   *
   * @throws RunFailedError if it failed or was cancelled, TimeoutError if it is not over after `wait`
   */
  result(runId: string, options?: WaitOptions): Promise<unknown>;

  /**
   * Pauses all runs that fit and are not over, a page at a time, newest first. A run that refuses stops nothing: it is
   * counted in `refused`. So it is with the verbs below.
   *
   * @throws LayoverError `invalid_request`, as for an empty filter
   * @example await client.pauseRuns({ workflow: "order" }, { reason: "their API is down" });
   */
  pauseRuns(filter: LiveFilter, options?: ManyOptions): Promise<ManyReceipt>;

  /** Resumes all paused runs that fit. @throws LayoverError `invalid_request` */
  resumeRuns(filter: LiveFilter, options?: ManyOptions): Promise<ManyReceipt>;

  /** Asks all runs that fit and are not over to clean up, to undo what they did, and to end. @throws LayoverError `invalid_request` */
  cancelRuns(filter: LiveFilter, options?: ManyOptions): Promise<ManyReceipt>;

  /** Ends all runs that fit and are not over, at once. @throws LayoverError `invalid_request` */
  terminateRuns(filter: LiveFilter, options?: ManyOptions): Promise<ManyReceipt>;

  /** Retries all failed runs that fit, as `retry` does with each. @throws LayoverError `invalid_request` */
  retryRuns(filter: RunFilter, options?: ManyOptions): Promise<ManyReceipt>;

  /**
   * Lets all runs that fit begin again, from a step or from their start, as `restart` does with each.
   *
   * @throws LayoverError `invalid_request`
   * @example await client.restartRuns({ workflow: "order", status: "blocked" }, { from: "charge" });
   */
  restartRuns(filter: RestartFilter, options?: RestartRunsOptions): Promise<ManyReceipt>;

  /**
   * Deletes all runs that fit and are over, with all that is kept of them. Others are refused, or asked to end first.
   *
   * @throws LayoverError `invalid_request`
   * @example await client.deleteRuns({ tags: { customer: "42" } }, { cancels: true });
   */
  deleteRuns(filter: RunFilter, options?: DeleteRunsOptions): Promise<ManyReceipt>;

  /**
   * Sends a signal to all runs of the contract's workflow that fit and are not over. The empty filter means no run.
   *
   * @throws LayoverError `invalid_request`, `invalid_payload`
   */
  signalRuns<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    filter: Omit<LiveFilter, "workflow">,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options?: ManyOptions,
  ): Promise<ManyReceipt>;

  /**
   * Pauses a workflow: its new runs are held, and those that are not over are paused, a page at a time. Runs that other runs
   * start are held, too; forks and runs that are retried are not.
   *
   * @throws LayoverError `invalid_name`, `invalid_request`
   * @example await client.pauseWorkflow("order", { reason: "their API is down" });
   */
  pauseWorkflow(workflow: string, options?: WorkflowPauseOptions): Promise<WorkflowReceipt>;

  /**
   * Ends the pause of a workflow: new runs begin again, and what the pause held goes on. A run that somebody has paused by
   * itself stays paused.
   *
   * @throws LayoverError `not_applicable` if it was never paused; `invalid_name`, `invalid_request`
   */
  resumeWorkflow(workflow: string, options?: WorkflowPauseOptions): Promise<WorkflowReceipt>;

  /** Schedules: those that code declares, and those that are made at run time. */
  readonly schedules: ScheduleVerbs;

  /** What became of a callback, named by its token or its URL. @throws LayoverError `unknown_callback` */
  callback(token: string): Promise<CallbackView>;

  /**
   * Answers a callback, named by its token or its URL. The first answer counts; the same answer again does no harm.
   *
   * @throws LayoverError `unknown_callback`, `invalid_payload`, `callback_conflict`, `callback_expired`
   */
  resolveCallback<C extends Contract>(token: string, value: CallbackInputOf<C>, of: { contract: C }): Promise<void>;

  /** The wait throws a CallbackRejectedError. @throws LayoverError as `resolveCallback` */
  rejectCallback(token: string, reason: Rejection): Promise<void>;

  /** Makes the scheduler look now. Call it after a start or a signal from SQL, which arms no alarm. */
  wake(): Promise<void>;
}
