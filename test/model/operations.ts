/** The model of pause, resume, cancel and terminate. A call that comes again gets the first answer and changes nothing. */
import type { OperationCall, OperationVerb } from "../../src/postgres/wire-verbs.ts";
import type { Called } from "./mail.ts";
import { findRun, isAtWork, isLive, isOver, isReady } from "./rules.ts";
import type { Answer, Run, World } from "./world.ts";

export function operate(world: World, namespace: string, verb: OperationVerb, call: OperationCall): Called {
  const run = findRun(world, call.runId, namespace);
  if (run === undefined) return { answer: { outcome: "unknown" }, hasEffect: false };
  const told = run.operations.get(call.callId);
  if (told !== undefined) return { answer: told, hasEffect: false };
  const answer = verbs[verb](run, world.now, call);
  const { outcome, runId } = answer;
  run.operations.set(call.callId, { outcome, runId });
  return { answer, hasEffect: true };
}

const verbs = { pause, resume, cancel, terminate };

function pause(run: Run, now: number): Answer {
  const isClosing = run.isClosing || run.cancelledPosition !== undefined || run.cancel !== undefined;
  if (isOver(run) || (isClosing && run.ending === undefined)) return { outcome: "not_applicable", runId: run.id };
  run.pausedAt ??= now;
  return { outcome: "paused", runId: run.id };
}

function resume(run: Run, now: number): Answer {
  if (isOver(run) || run.pausedAt === undefined) return { outcome: "not_applicable", runId: run.id };
  if (run.timeoutAt !== undefined) run.timeoutAt += now - run.pausedAt;
  run.pausedAt = undefined;
  if (isReady(run, now)) run.startsAt = undefined;
  for (const { lease } of [run, ...run.rows]) if (lease !== undefined) lease.until = Math.max(lease.until, now);
  const resumed = { outcome: "resumed", runId: run.id };
  if (run.isBlocked) return { ...resumed, turn: run.turn, branches: null };
  const mayBegin = ({ lease, readyAt }: Pick<Run, "lease" | "readyAt">) => {
    const at = lease?.until ?? readyAt;
    return at !== undefined && at <= now;
  };
  const branches = run.rows
    .filter((row) => isAtWork(row) && mayBegin(row))
    .sort((one, other) => one.ordinal - other.ordinal)
    .map(({ path, occurrence, turn }) => ({ path, occurrence, turn }));
  return { ...resumed, turn: mayBegin(run) ? run.turn : null, branches: branches.length === 0 ? null : branches };
}

function cancel(run: Run, now: number, { reason }: OperationCall): Answer {
  const { id: runId } = run;
  const isEnding = run.cancelledPosition !== undefined || run.ending !== undefined || run.isClosing;
  if (isOver(run) || (isEnding && run.cancel === undefined)) return { outcome: "not_applicable", runId };
  if (run.cancel !== undefined) return { outcome: "cancelling", runId };
  if (run.turn === 1 && run.lease === undefined && run.startsAt !== undefined) {
    end(run, now, `the run was cancelled: ${reason}`);
    return { outcome: "cancelled", runId };
  }
  Object.assign(run, { cancel: { reason }, pausedAt: undefined, isBlocked: false, readyAt: now });
  run.refusals.clear();
  const isBusy = isLive(run.lease, now) || run.rows.some(({ lease, isShielded }) => !isShielded && isLive(lease, now));
  return { outcome: "cancelling", runId, ...(!isBusy && { turn: run.turn }) };
}

function terminate(run: Run, now: number, { by, reason }: OperationCall): Answer {
  if (isOver(run)) return { outcome: "not_applicable", runId: run.id };
  end(run, now, `terminated by ${by}: ${reason}`);
  return { outcome: "terminated", runId: run.id };
}

function end(run: Run, now: number, message: string): void {
  const error = `0{"name": "CancelledError", "message": "${message}"}`;
  Object.assign(run, { status: "cancelled", lease: undefined, readyAt: undefined, endedAt: now, error });
  Object.assign(run, { rows: [], maps: new Map(), isBlocked: false });
}
