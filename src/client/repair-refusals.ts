/** Why a run is not retried, restarted or forked, as an error. */
import { type ErrorCode, type ErrorDetails, LayoverError } from "../core/errors.ts";
import { placeName } from "../core/replay/demand.ts";
import type { Place } from "../postgres/wire.ts";
import type { RepairAnswer } from "../postgres/wire-operations.ts";

type Verb = "retry" | "restart" | "fork";

/** Undefined: it was not refused. `from`: the place that was asked for. */
export function refusalOf(verb: Verb, answer: RepairAnswer, from: Place | undefined): LayoverError | undefined {
  const { runId } = answer;
  const refusal = (code: ErrorCode, why: string, hint: string, more: ErrorDetails = {}) =>
    new LayoverError(code, why, { hint, details: { runId, ...more } });
  switch (answer.outcome) {
    case "not_applicable": {
      const { status } = answer;
      const why = `the run ${runId} is ${status}, so it cannot be ${done[verb]}`;
      return refusal("not_applicable", why, hintFor(verb, status), { runStatus: status });
    }
    case "at_work":
      return refusal("at_work", `a step of the run ${runId} is still at work`, "Try again when it has ended.", {
        until: answer.until,
      });
    case "epoch_changed":
      return refusal("epoch_changed", `the run ${runId} is in its epoch ${answer.epoch} by now`, "Look at it again.", {
        epoch: answer.epoch,
      });
    case "unknown_place":
      return refusal(
        "unknown_step",
        `the run ${runId} has not come to ${from === undefined ? "that place" : placeName(from)}`,
        "Its history names the places. From the second step of a name on, the number belongs to it: charge#2.",
      );
    case "signal_closed":
      return refusal(
        "signal_closed",
        `the run ${runId} takes no more signal ${JSON.stringify(answer.name)}`,
        "It has closed that name. Retry it without the signal, or restart it from a step before that.",
        { signal: answer.name },
      );
    case "closing":
      return refusal(
        "not_applicable",
        `the run ${runId} was closing by then`,
        "Restart it from a step before that, or from its start.",
      );
    case "child_open":
      return refusal(
        "not_applicable",
        `the run ${runId} waited for the end of ${placeName(answer)} there`,
        "Fork it from a step before it invoked that run, from one after that run's end, or from its start.",
      );
    case "compensated":
      return refusal(
        "compensated",
        `${undone(answer)} of the run ${runId} was undone`,
        answer.path === undefined
          ? "Restart it from its start, or fork it."
          : "Restart it from that step, from one before it, or from its start.",
      );
    case "would_repeat":
    case "result_needed":
      return refusalOfPlaces(answer);
    case "child_failed": {
      const children = answer.children.slice(0, mostShown).join(", ");
      return refusal(
        "child_failed",
        `runs that the run ${runId} waits for have failed, or were cancelled: ${children}`,
        "Retry or restart those first.",
        { children },
      );
    }
    case "conflict":
      return refusal("input_conflict", "the id of the new run is taken by another run", "Give another id.");
    default:
      return undefined;
  }
}

function undone({ path, occurrence = 1 }: Partial<Place>): string {
  return path === undefined ? "all" : `step ${placeName({ path, occurrence })}`;
}

function refusalOfPlaces(answer: RepairAnswer & { outcome: "would_repeat" | "result_needed" }): LayoverError {
  const { outcome, runId, why } = answer;
  const places = answer.places.map(placeName).join(", ");
  const details = { runId, places };
  if (outcome === "would_repeat") {
    return new LayoverError(outcome, `what succeeded or was asked after the failure cannot be kept: ${why ?? places}`, {
      hint: "Restart the run from a step: what came after that is carried out again.",
      details,
    });
  }
  return new LayoverError(outcome, `the result of ${places} is lost, and nobody may carry it out again`, {
    hint: "It is done, or may be. Find out what became of it, and give its result: { results: { place: value } }.",
    details,
  });
}

function hintFor(verb: Verb, status: string): string {
  return verb === "restart" && (status === "cancelling" || status === "compensating") ? restartOfEnding : hints[verb];
}

const mostShown = 20;

const done = { retry: "retried", restart: "restarted", fork: "forked" } as const;
const restartOfEnding =
  "What it did is to be undone first. Let it end: resume it if it is paused, or deploy code that fits if it is blocked. Or terminate it, and nothing more is undone. Then restart it.";
const hints = {
  retry: "Only a run that failed can be retried.",
  restart: "A run can be restarted when it is over, blocked or paused. Pause it first, or cancel it.",
  fork: "Only a run that is over can be forked.",
} as const;
