/** Why a handler and its history do not fit, in words for people. */
import { LayoverError } from "../errors.ts";
import { type Demand, placeName } from "./demand.ts";
import type { HistoryRecord } from "./history.ts";

interface Stand {
  readonly position: number;
  readonly outcome: unknown;
  readonly pending: readonly Demand[];
}

/** Says what the history holds next, and what the code asks for instead. */
export function unlike(record: HistoryRecord, { position, outcome, pending }: Stand): string {
  const asked = pending.map((demand) => `${demand.wanted.kind} ${placeName(demand)}`);
  const asks =
    outcome !== undefined ? "has ended" : asked.length === 0 ? "asks for nothing" : `asks for ${asked.join(", ")}`;
  return `the history holds ${record.kind} ${placeName(record)} at position ${position + 1}, where the code ${asks}`;
}

/** Says that the code asked for something while no record was handed out. */
export function askedLate(place: string): string {
  return `${place} was asked for while the run waited for something else: the code before it awaits something that is no step`;
}

/** Makes the error of a verb that was called in the body of a step. */
export function nested(path: string, body: string): LayoverError {
  return new LayoverError("nested_step", `${path} was asked for in the body of step ${body}`, {
    hint: "A step's body cannot use `step`: call the steps one after the other in the handler, or group them by step.scope.",
  });
}
