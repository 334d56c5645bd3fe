/** Makes the events of a finish that the database has taken. */

import { type ErrorValue, toErrorValue } from "../../core/codec/error-value.ts";
import { fromStored } from "../../core/codec/stored-value.ts";
import { placeName } from "../../core/replay/demand.ts";
import type { FinishBranch, FinishRun, Place } from "../../postgres/wire.ts";
import type { Lease } from "../claim/lease.ts";
import type { LayoverEvent, TraceRef } from "../events.ts";
import type { Finish } from "./lesser-finishes.ts";

/** The run that an event is about, and its time. */
export interface About {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly at: Date;
  readonly trace?: TraceRef | undefined;
}

/** The database's answer to a finish. `isBlocked`: the run was set back too often, and is blocked. `readyAt`: when its next turn may begin, in ms. */
interface Taken {
  readonly isBlocked?: boolean | undefined;
  readonly readyAt?: number | null | undefined;
}

export function finishEvents(
  finish: Finish,
  about: About,
  { isBlocked, readyAt }: Taken = {},
): readonly LayoverEvent[] {
  const events = "next" in finish ? ofRun(finish, about, readyAt ?? undefined) : ofBranch(finish, about);
  const { setback: reason } = finish;
  if (reason === undefined) return events;
  return [...events, { kind: isBlocked ? "run_blocked" : "run_held_up", ...about, reason }];
}

/** Makes the event of a turn that somebody else has claimed while its holder is alive. */
export function lossEvent({ contract, turn }: Lease, at: Date): LayoverEvent {
  const { runId, path, occurrence = 1 } = turn;
  const step = path === undefined ? undefined : placeName({ path, occurrence });
  return { kind: "lease_lost", runId, step, workflow: contract?.name, version: contract?.version, at };
}

function ofRun(finish: Omit<FinishRun, "armed">, about: About, readyAt: number | undefined): readonly LayoverEvent[] {
  const { next, value = "", records = [], attempt } = finish;
  const events: LayoverEvent[] = [];
  for (const { kind, path, occurrence, isFailure, attempts = 1, at, beganAt = at } of records) {
    if (kind !== "step" || isFailure === true) continue;
    const step = placeName({ path, occurrence });
    events.push({ kind: "step_completed", ...about, step, attempt: attempts, beganAt: new Date(beganAt) });
  }
  // A blocked run carries the step out again.
  if (attempt !== undefined && next !== "blocked") events.push(attemptEvent(attempt, attempt, about));
  if (next === "completed" || next === "cancelled") events.push({ kind: `run_${next}`, ...about });
  else if (next === "blocked") events.push({ kind: "run_blocked", ...about, reason: value });
  else if (next === "failed") events.push({ kind: "run_failed", ...about, ...failure(value) });
  // Only a lap that waited for nothing makes the next one wait.
  if (finish.continues !== undefined && readyAt !== undefined)
    events.push({ kind: "run_slowed", ...about, until: new Date(readyAt) });
  return events;
}

function ofBranch(finish: Omit<FinishBranch, "armed">, about: About): readonly LayoverEvent[] {
  const { record, attempt, blocked } = finish;
  if (blocked !== undefined) return [{ kind: "run_blocked", ...about, reason: blocked }];
  if (attempt !== undefined) return [attemptEvent(attempt, finish, about)];
  if (record === undefined) return [];
  const { attempts, beganAt } = record;
  const step = placeName(finish);
  return [{ kind: "step_completed", ...about, step, attempt: attempts, beganAt: new Date(beganAt) }];
}

function attemptEvent(attempt: NonNullable<FinishBranch["attempt"]>, place: Place, about: About): LayoverEvent {
  const { number, beganAt, endedAt, error, retryInMs } = attempt;
  const of = { ...about, step: placeName(place), attempt: number, beganAt: new Date(beganAt), ...failure(error) };
  if (retryInMs === undefined) return { kind: "step_exhausted", ...of };
  return { kind: "attempt_failed", ...of, retryAt: new Date(endedAt + retryInMs) };
}

/** `text`: an ErrorValue, as the codec's text. */
function failure(text: string): { readonly error: ErrorValue; readonly code: string | undefined } {
  const error = toErrorValue(fromStored(text));
  return { error, code: error.code };
}
