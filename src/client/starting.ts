/** Makes the call of SQL from what `start` is given. Everything is checked here, before a row is written. */
import type { Contract } from "../core/contract/contract.ts";
import { signatureOf } from "../core/contract/signature.ts";
import { storedInput } from "../core/contract/stored-input.ts";
import { checkTags } from "../core/contract/tags.ts";
import { type Duration, toMilliseconds } from "../core/duration.ts";
import { LayoverError } from "../core/errors.ts";
import { defaultLimits } from "../core/limits.ts";
import { checkName } from "../core/names.ts";
import type { StartAnswer, StartCall } from "../postgres/wire-verbs.ts";
import { newRunId } from "./new-run-id.ts";
import { checkRunId } from "./run-id.ts";
import { digestOfSent } from "./sent.ts";

export interface StartOptions {
  /**
   * Your own id of the run, unique among the runs of the workflow while they are kept. Starting again with the same id
   * and the same input answers the run that is there.
   */
  readonly id?: string | undefined;
  /** How long the run waits before its first turn. What it waits for later reckons from then. */
  readonly delay?: Duration | undefined;
  /** When its first turn is. A date in the past means now. */
  readonly startAt?: Date | number | undefined;
  /** Up to 50 names with a value each, to find the run by. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /**
   * W3C trace context. One that is malformed is left out, as the specification asks. Default: where runs are served with
   * `telemetry`, the active span of whoever calls; by the HttpClient, none.
   */
  readonly traceparent?: string | undefined;
  /** Our id of the run (uuid v7), made by you: whoever starts again with it gets the same answer. */
  readonly runId?: string | undefined;
}

export interface StartInOptions extends StartOptions {
  /** When the transaction is committed at the latest, from now. A later COMMIT is refused. Default: 30 s. */
  readonly commitWithin?: Duration | undefined;
}

/**
 * `now` asks for the database's time.
 *
 * @throws LayoverError `invalid_input`, `invalid_name`, `invalid_duration`, `invalid_request`, `value_too_large` …
 */
export async function startCall(
  contract: Contract,
  input: unknown,
  options: StartOptions,
  { maxBytes, now }: { maxBytes: number; now: () => Promise<number> },
): Promise<StartCall> {
  const { id, delay, startAt, tags, traceparent, runId } = options;
  if (delay !== undefined && startAt !== undefined) {
    throw new LayoverError("invalid_request", "a start has either a delay or a startAt, not both", {
      hint: "Leave one of them out.",
      details: { field: "startAt" },
    });
  }
  const encodedInput = await storedInput(contract, input, { maxBytes });
  const sent = digestOfSent(input, encodedInput);
  return {
    // The id has the database's time: a host's clock may be wrong, and lists are sorted by the id.
    runId: runId === undefined ? newRunId(await now()) : checkRunId(runId),
    workflow: contract.name,
    version: contract.version,
    signature: signatureOf(contract),
    encodedInput,
    ...(sent !== undefined && { sent }),
    ...(id !== undefined && { id: checkName(id, "id") }),
    ...(delay !== undefined && { delayMs: toMilliseconds(delay, { field: "delay" }) }),
    ...(startAt !== undefined && { startAt: checkStartAt(startAt, await now()) }),
    ...(contract.timeoutMs !== undefined && { timeoutMs: contract.timeoutMs }),
    ...(tags !== undefined && { tags: checkTags(tags) }),
    ...(traceparent !== undefined && isTraceparent(traceparent) && { traceparent }),
  };
}

/** @throws LayoverError `input_conflict` */
export function startedRunId(call: StartCall, answer: StartAnswer): string {
  if (answer.outcome !== "conflict") return answer.runId;
  throw inputConflict(call, answer.runId);
}

/** `runId`: the run that has the user's id. Null: it is our id that another run has. */
export function inputConflict({ workflow, id, ...call }: StartCall, runId: string | null): LayoverError {
  const taken = id === undefined || runId === null ? `the run id ${call.runId}` : `the id ${JSON.stringify(id)}`;
  return new LayoverError("input_conflict", `${taken} is taken by a run with another input`, {
    hint: "Use another id, or start with the very input of that run to get it.",
    details: { workflow, ...(id !== undefined && { id }), ...(runId !== null && { runId }) },
  });
}

function checkStartAt(startAt: Date | number, now: number): number {
  const ms = Number(startAt);
  // Postgres' times and JavaScript's end at different ends; nobody means either.
  if (Number.isFinite(ms) && ms >= 0 && ms <= now + defaultLimits.durationMs) return Math.ceil(ms);
  throw new LayoverError(
    "invalid_duration",
    `startAt: ${formatInstant(ms)} is not between 1970 and 10 years from now`,
    {
      hint: "Give a Date, or epoch milliseconds.",
      details: { field: "startAt", maxMs: defaultLimits.durationMs },
    },
  );
}

function formatInstant(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

export function isTraceparent(text: string): boolean {
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}
