/**
 * What users of layover import: contracts and their handlers, and the errors that handlers throw and catch.
 *
 *   const greet = workflow({ name: "greet", version: 1, input: z.object({ name: z.string() }), output: z.string() });
 *   export const greetWorkflow = greet.handler(async ({ input, step }) => {
 *     await step.sleep("wait", "1 day");
 *     return await step.run("greet", () => `Hello ${input.name}`);
 *   });
 *
 * Where workflows are served, and by which database, is said elsewhere: `layover/node`, `layover/pg` …
 */

export type {
  AttemptView,
  EndingValue,
  HistoryOptions,
  HistoryView,
  PendingView,
  RecordView,
  StepPlace,
} from "./client/history-view.ts";
export type { ListOptions, Page } from "./client/listing.ts";
export type { CallbackInputOf, CallbackView, Rejection } from "./client/mail.ts";
export type {
  DeleteRunsOptions,
  LiveFilter,
  ManyOptions,
  ManyReceipt,
  Refused,
  RestartFilter,
  RestartRunsOptions,
} from "./client/many.ts";
export type { OperationOptions, OperationReceipt } from "./client/operations.ts";
export type { Client } from "./client/over-postgres/client.ts";
export type { Run, SignalOptions, SignalReceipt, WaitOptions as ResultOptions } from "./client/run.ts";
export { RunFailedError } from "./client/run-failed-error.ts";
export type { RunEnding, RunStatus, RunView, Setback, UndoCounts } from "./client/run-view.ts";
export type { SignalWithStartOptions, SignalWithStartReceipt } from "./client/signal-with-start.ts";
export type { StartInOptions, StartOptions } from "./client/starting.ts";
export { Unreadable } from "./client/unreadable.ts";
export type { ClientVerbs } from "./client/verbs.ts";
export type { WorkflowPauseOptions, WorkflowReceipt } from "./client/workflow-pause.ts";
export type { ErrorValue } from "./core/codec/error-value.ts";
export {
  type CallbacksOf,
  type Contract,
  type ContractOptions,
  type Handler,
  type HandlerContext,
  type Retention,
  type SignalsOf,
  type Workflow,
  workflow,
} from "./core/contract/contract.ts";
export type { RetryPolicy } from "./core/contract/retry.ts";
export {
  type Calendar,
  type Firing,
  type Schedule,
  type ScheduleOptions,
  type ScheduleTerms,
  schedule,
} from "./core/contract/schedule.ts";
export type { Schema, Schemas } from "./core/contract/schema.ts";
export type { InputOf, ResultOf } from "./core/contract/startable.ts";
export type {
  Callback,
  CallbackContext,
  CleanupStep,
  InvokeOptions,
  Log,
  MapOptions,
  NewRunOptions,
  RunInfo,
  RunOptions,
  Settled,
  Step,
  StepContext,
  StepOptions,
  Undo,
  UndoContext,
  WaitOptions,
} from "./core/contract/step.ts";
export {
  CallbackRejectedError,
  CancelledError,
  ChildFailedError,
  NonRetryableError,
  RetryAfterError,
  StepError,
  TimeoutError,
} from "./core/contract/user-errors.ts";
export type { Duration } from "./core/duration.ts";
export { type ErrorCode, type ErrorDetails, LayoverError } from "./core/errors.ts";
export type { Query, TransactionClient } from "./core/ports.ts";
export type { LayoverEvent } from "./engine/events.ts";
