/** What repairs a run: retry, restart and fork. What is asked for is checked here, before anything is sent. */
import { v7 } from "uuid";
import { toStored } from "../core/codec/stored-value.ts";
import type { Contract, SignalsOf } from "../core/contract/contract.ts";
import type { InferInput } from "../core/contract/schema.ts";
import type { InputOf } from "../core/contract/startable.ts";
import { storedInput } from "../core/contract/stored-input.ts";
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import { placeIn } from "../core/replay/demand.ts";
import type { Place } from "../postgres/wire.ts";
import type { CutRecord, ForkCall, RestartCall, RetryCall } from "../postgres/wire-operations.ts";
import { checkEpoch } from "./epoch-number.ts";
import { encodedPayload } from "./mail.ts";
import { newRunId } from "./new-run-id.ts";
import { type OperationOptions, operationCall } from "./operations.ts";
import { checkRunId } from "./run-id.ts";

export interface RepairOptions extends OperationOptions {
  /** The run's epoch as you have seen it (`RunView.epoch`). If another one has begun since, nothing happens. */
  readonly epoch?: number | undefined;
}

/** A signal comes with its contract, whose schema parses its payload. */
export type Correction<C extends Contract> =
  | { readonly signal?: undefined; readonly contract?: undefined }
  | { readonly signal: AnySignalOf<C>; readonly contract: C };
type AnySignalOf<C extends Contract> = {
  readonly [Name in keyof SignalsOf<C> & string]: {
    readonly name: Name;
    readonly payload: InferInput<SignalsOf<C>[Name]>;
  };
}[keyof SignalsOf<C> & string];

/** `signal`: is sent to the run in the same act, so that the run finds it when it goes on. */
export type RetryOptions<C extends Contract = Contract> = RepairOptions & Correction<C> & Results;

interface Results {
  /**
   * The results of steps that failed, by their places (`ship[3]/send#2`): such a step counts as succeeded, and is not
   * carried out again.
   */
  readonly results?: Readonly<Record<string, unknown>> | undefined;
  /** Whether nobody is shown these results. Say so for steps with `sensitive: true`: only their code knows it. Default: false. */
  readonly sensitive?: boolean | undefined;
}

/** Another input comes with its contract, whose schema parses it. */
export type NewInput<C extends Contract> =
  | { readonly input?: undefined; readonly contract?: undefined }
  | { readonly input: InputOf<C>; readonly contract: C };

export type RestartOptions<C extends Contract = Contract> = RepairOptions &
  NewInput<C> & {
    /** The place of the step or wait from which the run goes on: `charge`, `ship[3]/send#2`. Default: from its start. */
    readonly from?: string | undefined;
  };

export type ForkOptions<C extends Contract = Contract> = NewInput<C> & {
  /** As in `restart`. */
  readonly from?: string | undefined;
  readonly epoch?: number | undefined;
  /** Your own id of the new run. The old run keeps its own. */
  readonly id?: string | undefined;
  /** Our id of the new run (uuid v7), made by you: whoever forks again with it gets the same answer. */
  readonly newRunId?: string | undefined;
};

/** The answer to a retry or a restart that was done, now or by the same call before. */
export interface RepairReceipt {
  readonly runId: string;
  readonly outcome: "retried" | "restarted";
  /** The epoch that has begun. */
  readonly epoch: number;
  /** How many records it begins with, and how many of the epoch before are left out. */
  readonly kept: number;
  readonly dropped: number;
}

/** What a restart would do. */
export interface RestartPlan {
  readonly runId: string;
  readonly kept: number;
  readonly dropped: number;
  /**
   * The first hundred records that it would drop. What these steps did is not undone. Whether a step has a `compensate` is
   * known to the code alone, so it is not told here.
   */
  readonly records: readonly CutRecord[];
}

/** The answer to a fork that was done, now or by the same call before. */
export interface ForkReceipt {
  /** Our id of the new run. */
  readonly runId: string;
  readonly outcome: "forked";
}

export async function retryCall(runId: string, options: RetryOptions, maxBytes: number): Promise<RetryCall> {
  const { epoch, results, sensitive, signal, contract, ...asked } = options;
  const given = Object.entries(results ?? {}).map(([place, value]) => ({
    ...placeIn(place),
    value: toStored(value, { what: `the result of ${place}`, isSensitive: sensitive }),
  }));
  return {
    ...operationCall(runId, asked),
    ...checkEpoch(epoch),
    ...(given.length > 0 && { results: given }),
    ...(signal !== undefined &&
      contract !== undefined && {
        signal: {
          name: signal.name,
          encodedPayload: await encodedPayload(contract, signal.name, signal.payload, maxBytes),
          signalId: v7(),
        },
      }),
  };
}

export async function restartCall(runId: string, options: RestartOptions, maxBytes: number): Promise<RestartCall> {
  const { epoch, from, input: _input, contract: _contract, ...asked } = options;
  checkHasNoInput(options);
  return {
    ...operationCall(runId, asked),
    ...checkEpoch(epoch),
    ...fromOf(from),
    ...(await inputOf(options, maxBytes)),
  };
}

/** `now` asks for the database's time. */
export async function forkCall(
  runId: string,
  options: ForkOptions,
  { maxBytes, now }: { maxBytes: number; now: () => Promise<number> },
): Promise<ForkCall> {
  const { epoch, from, id, newRunId: given } = options;
  checkHasNoInput(options);
  const { runId: known } = operationCall(runId, {});
  return {
    runId: known,
    newRunId: given === undefined ? newRunId(await now()) : checkRunId(given),
    ...checkEpoch(epoch),
    ...fromOf(from),
    ...(id !== undefined && { id: checkName(id, "id") }),
    ...(await inputOf(options, maxBytes)),
  };
}

async function inputOf(
  { contract, input }: NewInput<Contract>,
  maxBytes: number,
): Promise<{ encodedInput: string } | undefined> {
  if (contract === undefined) return undefined;
  return { encodedInput: await storedInput(contract, input, { maxBytes }) };
}

/** A history that is kept in part belongs to its input. */
function checkHasNoInput({ from, contract }: { from?: string | undefined; contract?: Contract | undefined }): void {
  if (from === undefined || contract === undefined) return;
  throw new LayoverError("invalid_request", "another input is given for a run that keeps a part of its history", {
    hint: "Leave out `from`: with another input a run begins anew.",
    details: { field: "input" },
  });
}

function fromOf(from: string | undefined): { from?: Place } {
  return from === undefined ? {} : { from: placeIn(from) };
}
