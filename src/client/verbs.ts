/**
 * The verbs of a client. The verbs about one run are in run.ts (`RunVerbs`). A process that has the database carries them
 * out itself (over-postgres/client.ts). Any other program asks such a process over HTTP (over-http/http-client.ts).
 */
import type { Contract } from "../core/contract/contract.ts";
import type { ListOptions, Page } from "./listing.ts";
import type { CallbackInputOf, CallbackView, Rejection } from "./mail.ts";
import type { Run, RunVerbs, WaitOptions } from "./run.ts";
import type { StartArguments, StartOptions } from "./starting.ts";

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
