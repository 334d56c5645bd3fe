/** The model of pause, resume, cancel and terminate, of one run and of many, and of delete. A call that comes again gets the first answer, with what is ready now, and changes nothing. */
import type { OperationCall, OperationVerb, SingleVerb } from "../../src/postgres/wire-operations.ts";
import { type Called, isDeleted } from "./mail.ts";
import { findRun, isAtWork, isLive, isOver } from "./rules.ts";
import type { Answer, Run } from "./run.ts";
import type { World } from "./world.ts";

export function operate(
  world: World,
  namespace: string,
  verb: SingleVerb,
  call: OperationCall & { readonly holds?: true },
): Called {
  const run = findRun(world, call.runId, namespace);
  if (run === undefined) {
    const isGone = verb === "delete" && isDeleted(world, namespace, call.runId);
    return { answer: isGone ? { outcome: "deleted", runId: call.runId } : { outcome: "unknown" }, hasEffect: false };
  }
  const told = run.operations.get(call.callId);
  if (told !== undefined) return { answer: { ...told, ...readyNow(run, world.now) }, hasEffect: false };
  const answer = verb === "delete" ? remove(world, run) : verbs[verb](run, world.now, call);
  const { outcome, runId } = answer;
  run.operations.set(call.callId, { outcome, runId });
  return { answer, hasEffect: true };
}

/** All runs of the namespace that are not over; to resume, those that are paused. They come in the order of their ids. */
export function operateMany(
  world: World,
  namespace: string,
  verb: OperationVerb,
  call: Omit<OperationCall, "runId"> & { readonly holds?: true },
): Called {
  const isMeant = (run: Run) =>
    run.namespace === namespace && !isOver(run) && (verb !== "resume" || run.pausedAt !== undefined) && isOfPause(run);
  const isOfPause = (run: Run) =>
    call.holds === undefined || (verb === "pause" ? run.pausedAt === undefined : run.isHeld);
  const ids = world.runs.filter(isMeant).map(({ id }) => id);
  const answers = ids.toSorted().map((runId) => operate(world, namespace, verb, { ...call, runId }).answer);
  const refused = answers.filter(({ outcome }) => outcome === "not_applicable").map(({ runId }) => runId);
  const outcomes = Map.groupBy(answers, ({ outcome }) => outcome);
  outcomes.delete("not_applicable");
  const answer = {
    callId: call.callId,
    runs: answers.length,
    next: null,
    outcomes: Object.fromEntries([...outcomes].map(([outcome, some]) => [outcome, some.length])),
    refused: refused.length === 0 ? [] : [{ code: "not_applicable", runs: refused.length, runIds: refused }],
    turns: answers.flatMap(({ runId, turn }) => (turn === undefined || turn === null ? [] : [{ runId, turn }])),
    branches: answers.flatMap(({ runId, branches }) =>
      Array.isArray(branches) ? branches.map((branch) => ({ runId, ...branch })) : [],
    ),
  };
  return { answer, hasEffect: answers.length > 0 };
}

/** Pauses the workflow, or ends its pause. */
export function changeWorkflow(world: World, namespace: string, verb: "pause" | "resume", callId: string): Called {
  const known = world.workflowPauses.get(namespace);
  const isNew =
    verb === "pause"
      ? known === undefined || (!known.isPaused && known.callId !== callId)
      : known?.isPaused === true && known.resumeCallId !== callId;
  if (known === undefined && verb === "resume") return { answer: { outcome: "not_applicable" }, hasEffect: false };
  const pause = isNew
    ? verb === "pause"
      ? { callId, isPaused: true, resumeCallId: known?.resumeCallId }
      : { callId: known?.callId ?? "", isPaused: false, resumeCallId: callId }
    : known;
  if (pause !== undefined) world.workflowPauses.set(namespace, pause);
  const outcome = pause?.isPaused === true ? "paused" : "resumed";
  const answer = { outcome, callId: verb === "pause" ? pause?.callId : callId, isCertain: true };
  return { answer, hasEffect: isNew };
}

/** Does to the runs what was done to their workflow. */
export function followWorkflow(
  world: World,
  namespace: string,
  verb: "pause" | "resume",
  call: Omit<OperationCall, "runId">,
): Called {
  const known = world.workflowPauses.get(namespace);
  if (known === undefined || known.isPaused !== (verb === "pause"))
    return { answer: { callId: call.callId, runs: 0, next: null }, hasEffect: false };
  const callId = verb === "pause" ? known.callId : call.callId;
  return operateMany(world, namespace, verb, { ...call, callId, holds: true });
}

function remove(world: World, run: Run): Answer {
  const { id: runId, namespace } = run;
  if (!isOver(run)) return { outcome: "not_applicable", runId };
  world.runs = world.runs.filter((other) => other !== run);
  world.deletions.push({ namespace, runId, at: world.now });
  return { outcome: "deleted", runId };
}

const verbs = { pause, resume, cancel, terminate };

function pause(run: Run, now: number, { holds }: { readonly holds?: true }): Answer {
  const isClosing = run.isClosing || run.cancelledPosition !== undefined || run.cancel !== undefined;
  if (isOver(run) || (isClosing && run.ending === undefined)) return { outcome: "not_applicable", runId: run.id };
  run.isHeld = holds === true && (run.pausedAt === undefined || run.isHeld);
  run.pausedAt ??= now;
  return { outcome: "paused", runId: run.id };
}

function resume(run: Run, now: number): Answer {
  if (isOver(run) || run.pausedAt === undefined) return { outcome: "not_applicable", runId: run.id };
  if (run.timeoutAt !== undefined) run.timeoutAt += now - run.pausedAt;
  run.pausedAt = undefined;
  for (const { lease } of [run, ...run.rows]) if (lease !== undefined) lease.until = Math.max(lease.until, now);
  const resumed = { outcome: "resumed", runId: run.id };
  return { ...resumed, ...(run.isBlocked ? { turn: run.turn, branches: null } : readyNow(run, now)) };
}

/** Answers the turn and the branches of a run that may be claimed now. A paused or blocked run has none. */
export function readyNow(run: Run, now: number): { readonly turn: number | null; readonly branches: unknown[] | null } {
  if (isOver(run) || run.pausedAt !== undefined || run.isBlocked) return { turn: null, branches: null };
  const mayBegin = ({ lease, readyAt }: Pick<Run, "lease" | "readyAt">) => {
    const at = lease?.until ?? readyAt;
    return at !== undefined && at <= now;
  };
  const branches = run.rows
    .filter((row) => isAtWork(row) && mayBegin(row))
    .sort((one, other) => one.ordinal - other.ordinal)
    .map(({ path, occurrence, turn }) => ({ path, occurrence, turn }));
  return { turn: mayBegin(run) ? run.turn : null, branches: branches.length === 0 ? null : branches };
}

function cancel(run: Run, now: number, { reason }: OperationCall): Answer {
  const { id: runId } = run;
  if (isOver(run) || isEnding(run)) return { outcome: "not_applicable", runId };
  if (run.cancel !== undefined) return { outcome: "cancelling", runId };
  if (run.turn === 1 && run.lease === undefined && !run.isInterrupted && run.history.length === 0) {
    end(run, now, `"data": {"reason": "${reason}"}, `, `the run was cancelled: ${reason}`);
    return { outcome: "cancelled", runId };
  }
  Object.assign(run, { cancel: { reason }, pausedAt: undefined, isBlocked: false, readyAt: now });
  run.refusals.clear();
  const isBusy = isLive(run.lease, now) || run.rows.some(({ lease, isShielded }) => !isShielded && isLive(lease, now));
  return { outcome: "cancelling", runId, ...(!isBusy && { turn: run.turn }) };
}

/** Whether it ends for another reason than a cancel. One whose history is full closes as after a cancel. */
function isEnding({ cancel, cancelledPosition, ending, isClosing, endsAs, history }: Run): boolean {
  if (cancel === undefined) return cancelledPosition !== undefined || ending !== undefined || isClosing;
  const owed = ending === undefined ? undefined : history[ending.position - 1]?.value;
  return endsAs?.next === "failed" || owed === JSON.stringify({ next: "failed" });
}

function terminate(run: Run, now: number, { by, reason }: OperationCall): Answer {
  if (isOver(run)) return { outcome: "not_applicable", runId: run.id };
  end(run, now, "", `terminated by ${by}: ${reason}`);
  return { outcome: "terminated", runId: run.id };
}

function end(run: Run, now: number, data: string, message: string): void {
  const error = `0{${data}"name": "CancelledError", "message": "${message}"}`;
  Object.assign(run, { status: "cancelled", lease: undefined, readyAt: undefined, endedAt: now, error });
  Object.assign(run, { rows: [], maps: new Map(), isBlocked: false, endsAs: undefined });
}
