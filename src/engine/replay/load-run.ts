/** Begins the handler of a run. */
import { fromStored } from "../../core/codec/stored-value.ts";
import type { Contract, Workflow } from "../../core/contract/contract.ts";
import { parse, parseAtOnce } from "../../core/contract/schema.ts";
import { isSensitive } from "../../core/contract/sensitive.ts";
import type { Log, Step } from "../../core/contract/step.ts";
import { storedInput } from "../../core/contract/stored-input.ts";
import { LayoverError } from "../../core/errors.ts";
import type { LargeValues } from "../../core/ports.ts";
import { Execution } from "../../core/replay/execution.ts";
import { Segments } from "../../core/replay/segments.ts";
import { makeStep } from "../../core/replay/steps.ts";
import type { ClaimedRun, WireRun } from "../../postgres/wire.ts";
import { digestOf } from "../digest.ts";
import type { LogLevel, TraceRef } from "../events.ts";
import { defaults, type EngineOptions } from "../options.ts";
import type { Registry } from "../registry.ts";
import { LoadedRun } from "./loaded-run.ts";
import { Room } from "./room.ts";

/** The part of the engine's options that a replay uses. The rest is for carrying out steps. */
export type LoadOptions = Pick<EngineOptions, "atRest" | "sealCallback" | "onEvent" | "onDemand"> & {
  readonly calls?: { readonly store: LargeValues | undefined };
};

/**
 * Begins a handler at its first rest.
 *
 * @throws LayoverError `invalid_input`, for a run that was started from SQL with an input its schema refuses, or by a
 *   schedule whose code makes no input that can be stored; `schedule_missing`, if this code does not declare that schedule
 */
export async function loadRun(
  options: LoadOptions,
  registry: Pick<Registry, "findSchedule">,
  workflow: Workflow,
  claimed: Pick<ClaimedRun, "epoch" | "handedPosition" | "patches"> & {
    readonly runId: string;
    readonly run: WireRun;
    readonly trace?: TraceRef | undefined;
  },
): Promise<LoadedRun> {
  const { runId, epoch, run, handedPosition } = claimed;
  const { contract } = workflow;
  const room = new Room(options.calls?.store);
  const madeInput = await inputMadeByCode(run, registry, contract, room);
  const storedText = madeInput ?? run.input;
  const input = await inputOf(storedText, madeInput !== undefined || run.isInputParsed, contract);
  const { createdAt } = run;
  const segments = new Segments(run.segments ?? [{ from: 0, at: run.startsAt ?? createdAt, run: runId, epoch }]);
  const execution = new Execution({
    atRest: options.atRest ?? macrotask,
    beginsAt: segments.at(0).at,
    runId,
    segments,
    onDemand: options.onDemand && ((demand) => options.onDemand?.(demand, { runId, epoch })),
  });
  const loaded = new LoadedRun({
    runId,
    epoch,
    workflow,
    execution,
    segments,
    origin: { createdAt, traceparent: run.traceparent },
    handedPosition,
    bytes: storedText.length,
    room,
    madeInput,
  });
  loaded.trace = claimed.trace;
  loaded.noteReplay(claimed);
  const step = stepOf(options, loaded);
  const info = {
    runId,
    id: run.userId ?? undefined,
    workflow: contract.name,
    version: contract.version,
    parentRunId: run.parentRunId ?? undefined,
    tags: run.tags ?? {},
    createdAt: new Date(run.createdAt),
  };
  await execution.begin(() => workflow.handle({ input, step, run: info, log: logOf(options, loaded) }));
  return loaded;
}

async function inputOf(storedText: string, isParsed: boolean, contract: Contract): Promise<unknown> {
  const given = fromStored(storedText, "the run's input");
  if (isParsed || contract.input === undefined) return given;
  return await parse(contract.input, given, {
    code: "invalid_input",
    what: "the run's input",
    isSensitive: isSensitive(contract, "input"),
  });
}

/** Makes the `step` that the handler gets: the verbs, bound to this run. */
function stepOf(options: LoadOptions, loaded: LoadedRun): Step {
  const { runId, epoch, execution, segments } = loaded;
  const { contract } = loaded.workflow;
  return makeStep({
    execution,
    seed: (text) => loaded.seed(text),
    keySeed: (text, recordedAt) => loaded.keySeed(text, recordedAt),
    knownRun: (made) => segments.knownRun(made),
    callbackEpoch: () => (epoch === 0 ? undefined : segments.callbackEpochAt(execution.position, runId)),
    encodeInput: (next) => storedInput(contract, next, { maxBytes: loaded.room.valueBytes }),
    sealCallback: (callback) =>
      sealCallback(options, {
        ...callback,
        runId,
        epoch: segments.callbackEpochAt(execution.position, runId),
        madeAt: execution.position,
        ...(epoch > 0 && { madeIn: epoch }),
        workflow: contract.name,
        version: contract.version,
      }),
    say: (value) => loaded.say(value),
    isPatched: (path) => loaded.isPatched(path),
    parseStatus: (value) => parsedStatus(contract, value),
    stepTimeoutMs: defaults.stepTimeoutMs,
    digest: digestOf,
    signals: Object.keys(contract.signals),
    callbacks: Object.keys(contract.callbacks),
  });
}

/**
 * The input that the code of the run's schedule makes, as the codec's text. Undefined: the input is stored. The run's first
 * finish stores what this answers, so later code makes no other.
 */
async function inputMadeByCode(
  { isInputParsed, scheduled }: WireRun,
  registry: Pick<Registry, "findSchedule">,
  contract: Contract,
  { valueBytes: maxBytes }: Room,
): Promise<string | undefined> {
  if (isInputParsed || scheduled?.computesInput !== true) return undefined;
  const { schedule, at, firedAt } = scheduled;
  const declared = registry.findSchedule(schedule);
  if (typeof declared?.input !== "function") {
    throw new LayoverError("schedule_missing", `this code does not say the input of the schedule "${schedule}"`, {
      hint: "Deploy code that declares the schedule, with a function as its input.",
      details: { schedule },
    });
  }
  try {
    return await storedInput(
      contract,
      declared.input({ schedule, scheduledAt: new Date(at), firedAt: new Date(firedAt) }),
      { maxBytes },
    );
  } catch (cause) {
    if (cause instanceof LayoverError && cause.code === "invalid_input") throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LayoverError("invalid_input", `the schedule "${schedule}" has made no input: ${why}`, {
      hint: "Mend the function `input` of the schedule. It is pure, and gets the schedule's name and two dates.",
      details: { schedule },
      cause,
    });
  }
}

function parsedStatus({ status }: Contract, value: unknown): unknown {
  return status === undefined
    ? value
    : parseAtOnce(status, value, { code: "invalid_status", what: "the run's status" });
}

function sealCallback(
  options: LoadOptions,
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

function logOf({ onEvent }: LoadOptions, loaded: LoadedRun): Log {
  const write = (level: LogLevel) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (!loaded.isBodyAtWork && loaded.isReplaying) return;
    const {
      runId,
      workflow: { contract },
      speaker,
    } = loaded;
    onEvent?.({ kind: "handler_logged", level, message, fields, runId, workflow: contract.name, ...speaker });
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
