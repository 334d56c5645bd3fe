/** What may be wrong between the processes that ring for each other. */
import { LayoverError } from "../../../core/errors.ts";
import type { Peer } from "../../../http/arm.ts";

export function misdirected(): LayoverError {
  return new LayoverError("misdirected", "the message is for another process than this one", {
    hint: "The door of a process must lead to that process alone, not to a load balancer.",
  });
}

export function closing(): LayoverError {
  return new LayoverError("closing", "this process is about to end, so nothing may be armed here", {
    hint: "Ask another process.",
  });
}

export function unreached({ id, door }: Peer, cause: unknown): LayoverError {
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  return new LayoverError("unreachable", `the process ${id} at ${door} has not answered twice${why}`, {
    hint: "If it has ended, nothing is to be done. If it lives, look at its `processes.door` and at the network between the processes.",
    cause,
  });
}

export function lateFarewell(doing: string, ms: number): LayoverError {
  return new LayoverError("no_answer", `${doing} took longer than ${ms / 1_000} seconds`, {
    hint: "The other processes find out by themselves within a minute.",
  });
}
