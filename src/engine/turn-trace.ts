/** What a turn tells whatever watches it (telemetry.ts). */
import { toErrorValue } from "../core/codec/error-value.ts";
import { fromStored } from "../core/codec/stored-value.ts";
import type { Contract } from "../core/contract/contract.ts";
import { placeName } from "../core/replay/demand.ts";
import type { ClaimedBranch, ClaimedRun, ClaimTurn, FinishAnswer } from "../postgres/wire.ts";
import type { TraceRef } from "./events.ts";
import type { Finish } from "./finish/lesser-finishes.ts";
import type { EngineOptions } from "./options.ts";
import type { BegunAttempt, BegunTurn, Origin, TurnOutcome, TurnTrace } from "./telemetry.ts";
import type { AttemptResult } from "./turn/attempt.ts";

/** `origin`: of the run. Undefined: this process does not know it. */
export function begunTurn(
  { deployment, requestId }: EngineOptions,
  { runId, path, occurrence = 1 }: ClaimTurn,
  { epoch, turn, now: at, readyAt }: ClaimedRun | ClaimedBranch,
  { name: workflow, version }: Pick<Contract, "name" | "version">,
  { createdAt, traceparent }: Origin,
): BegunTurn {
  return {
    ...{ runId, workflow, version, epoch, turn, createdAt, traceparent, deployment, at },
    branch: path === undefined ? undefined : placeName({ path, occurrence }),
    requestId: requestId?.(),
    readyAt: readyAt ?? undefined,
  };
}

export function turnOutcome(finish: Finish, answer: FinishAnswer): TurnOutcome {
  if (answer.outcome === "deferred") return "deferred";
  if (answer.outcome !== "finished") return answer.outcome === "superseded" ? "superseded" : "error";
  if (finish.setback !== undefined) return answer.isBlocked === true ? "blocked" : "held_up";
  if ("next" in finish) return finish.next;
  if (finish.blocked !== undefined) return "blocked";
  return finish.record === undefined ? "retried" : "recorded";
}

/** Carries out an attempt, and tells its span how it ended. */
export async function traced(
  turn: TurnTrace | undefined,
  begun: BegunAttempt,
  work: (trace: TraceRef | undefined) => Promise<AttemptResult>,
): Promise<AttemptResult> {
  if (turn === undefined) return await work(undefined);
  const span = turn.beginAttempt(begun);
  try {
    const result = await span.within(() => work(span.trace));
    if (result.kind !== "failed") span.end("succeeded");
    else span.end(result.retryInMs === undefined ? "failed" : "retried", toErrorValue(fromStored(result.error)));
    return result;
  } finally {
    span.end("left");
  }
}
