/**
 * What is recorded of a turn if its finish holds a value that the database cannot store. The body is done and must not
 * be carried out again, so each try records less. The first one records the step's result, but nothing that followed
 * from it. The next one records that the step is done and its result lost. The next one blocks the run, says why, and keeps that
 * the step was carried out, so that it is undone if the run is cancelled. The last one blocks the run only.
 */
import { type ErrorValue, toErrorValue } from "../../core/codec/error-value.ts";
import { toStoredError } from "../../core/codec/stored-value.ts";
import { LayoverError } from "../../core/errors.ts";
import { utf8Size } from "../../core/utf8-size.ts";
import type { FinishBranch, FinishRun, NewRecord } from "../../postgres/wire.ts";

export type RunFinish = Omit<FinishRun, "armed">;
type BranchFinish = Omit<FinishBranch, "armed">;
export type Finish = RunFinish | BranchFinish;

/** Makes the finishes in the order in which they are tried. `reason`: why the database refused the whole. */
export function lesserFinishes(finish: Finish, reason: string): readonly Finish[] {
  return "next" in finish ? ofRun(finish, reason) : ofBranch(finish, reason);
}

function ofRun(finish: RunFinish, reason: string): readonly Finish[] {
  const { runId, token, position, records = [], attempt, released = [], patches = [], input } = finish;
  const bare = { runId, token, position };
  const turn = { ...bare, ...(input !== undefined && { input }) };
  const blocked: RunFinish = { ...bare, next: "blocked", value: sentenceOf(undefined, false, reason) };
  const place = records.findIndex(({ kind }) => kind === "step");
  const step = records[place];
  if (step === undefined) {
    if (attempt === undefined) return [blocked];
    const failed = { ...attempt, error: resultLost(attempt.path, true, reason) };
    const { retryInMs: _, ...last } = failed;
    const { next, value = "" } = finish;
    const kept: Pick<RunFinish, "next" | "value"> = next === "blocked" ? { next, value } : { next: "parked" };
    return [{ ...turn, ...kept, ...recording(records), attempt: failed }, { ...blocked, attempt: last }, blocked];
  }
  const before = records.slice(0, place);
  const decided = released.filter((race) => race.position <= position + place);
  const met = patches.filter((patch) => patch.position <= position + place + 1);
  const followed = { ...(decided.length > 0 && { released: decided }), ...(met.length > 0 && { patches: met }) };
  const { path, occurrence, isFailure = false, attempts: number = 1, at, beganAt = at } = step;
  const error = resultLost(path, isFailure, reason);
  const failed = { path, occurrence, number, beganAt, endedAt: at, demandedAfter: position, ...attempt, error };
  return [
    {
      ...turn,
      next: "ready",
      ...recording([...before, step]),
      ...followed,
      ...(attempt !== undefined && { attempt }),
    },
    {
      ...turn,
      next: "ready",
      ...recording([...before, { ...step, isFailure: true, value: error }]),
      ...followed,
      attempt: failed,
    },
    { ...blocked, attempt: failed },
    blocked,
  ];
}

function ofBranch(finish: BranchFinish, reason: string): readonly Finish[] {
  const { runId, turn, token, path, occurrence, record, attempt } = finish;
  const branch = { runId, turn, token, path, occurrence };
  const blocked: BranchFinish = { ...branch, blocked: sentenceOf(path, record?.isFailure ?? true, reason) };
  const error = resultLost(path, record?.isFailure ?? true, reason);
  if (record === undefined)
    return attempt === undefined ? [blocked] : [{ ...branch, attempt: { ...attempt, error } }, blocked];
  const { attempts: number, beganAt, at: endedAt } = record;
  return [
    {
      ...branch,
      record: { ...record, value: error, isFailure: true },
      bytes: utf8Size(error),
      attempt: { number, beganAt, endedAt, ...attempt, error },
    },
    blocked,
  ];
}

function recording(records: readonly NewRecord[]): Pick<RunFinish, "records" | "bytes"> {
  const bytes = records.reduce((sum, { value }) => sum + utf8Size(value ?? ""), 0);
  return records.length === 0 ? {} : { records, bytes };
}

/** The error that stands in the place of the lost result, as the codec's text. */
function resultLost(path: string, isFailure: boolean, reason: string): string {
  const error = new LayoverError("result_lost", sentenceOf(path, isFailure, reason), {
    hint: "The step is not carried out again. Let it return a value that this database can store: its encoding may lack a character.",
  });
  const { stack: _, ...kept }: ErrorValue = toErrorValue(error);
  return toStoredError(kept);
}

function sentenceOf(path: string | undefined, isFailure: boolean, reason: string): string {
  if (path === undefined) return `the database cannot store what this turn came to: ${reason}`;
  const what = isFailure
    ? "failed, and the database cannot store its error"
    : "is done, and the database cannot store its result";
  return `step "${path.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200)}" ${what}: ${reason}`;
}
