/** What a start, a signal and a callback's answer mean. */
import type { CallbackCall, SignalCall, SignalWithStartCall, StartCall } from "../../src/postgres/wire-verbs.ts";
import { findRun, isAnswered, isOver, isReady, isSamePlace, isStill } from "./rules.ts";
import { type Answer, noLosses, type Run } from "./run.ts";
import type { World } from "./world.ts";

export interface Called {
  readonly answer: Answer;
  /** False: it found everything as it would have left it. */
  readonly hasEffect: boolean;
}

export function start(world: World, namespace: string, call: StartCall): Called {
  const { now } = world;
  const { runId, workflow, version, id: userId, encodedInput: input } = call;
  const ofId = userId === undefined ? undefined : findByUserId(world, namespace, workflow, userId);
  const other = world.runs.find(({ id }) => id === runId) ?? ofId;
  if (other !== undefined) {
    const isSame = other.namespace === namespace && other.workflow === workflow && other.input === input;
    const outcome = isSame ? (other.id === runId ? "started" : "exists") : "conflict";
    return { answer: { outcome, runId: isSame || other.id !== runId ? other.id : null, now }, hasEffect: false };
  }
  if (isDeleted(world, namespace, runId)) {
    return { answer: { outcome: "started", runId, version, turn: null, isDeleted: true, now }, hasEffect: false };
  }
  const isHeld = world.workflowPauses.get(namespace)?.isPaused ?? false;
  const run = newRun(world, namespace, call, isHeld);
  world.runs.push(run);
  return { answer: { outcome: "started", runId, turn: isHeld ? null : 1, readyAt: run.readyAt, now }, hasEffect: true };
}

/** `isHeld`: its workflow is paused. */
function newRun({ now }: World, namespace: string, call: StartCall, isHeld: boolean): Run {
  const { runId, workflow, version, id: userId, encodedInput: input } = call;
  const readyAt = Math.max(now, call.startAt ?? now + (call.delayMs ?? 0));
  return {
    id: runId,
    namespace,
    workflow,
    version,
    signature: null,
    isMoved: false,
    userId,
    input,
    timeoutAt: call.timeoutMs === undefined ? undefined : readyAt + call.timeoutMs,
    status: "parked",
    turn: 1,
    handed: -1,
    loneClaims: 0,
    beginnings: 0,
    begun: undefined,
    losses: noLosses,
    dispatches: 0,
    history: [],
    historyBytes: 0,
    lastRecordAt: now,
    lease: undefined,
    readyAt,
    dueAt: undefined,
    lastFinish: undefined,
    isBlocked: false,
    refusals: new Map(),
    setback: undefined,
    closed: [],
    says: null,
    pausedAt: isHeld ? now : undefined,
    isHeld,
    operations: new Map(),
    cancel: undefined,
    isClosing: false,
    endsAs: undefined,
    isInterrupted: false,
    ending: undefined,
    cancelledPosition: undefined,
    endedAt: undefined,
    result: null,
    error: null,
    rows: [],
    maps: new Map(),
    signals: [],
    flood: undefined,
    answers: [],
    attempts: new Set(),
    occurrences: new Map(),
  };
}

export function isDeleted({ deletions }: World, namespace: string, runId: string): boolean {
  return deletions.some((one) => one.namespace === namespace && one.runId === runId);
}

export function findByUserId(world: World, namespace: string, workflow: string, userId: string): Run | undefined {
  return world.runs.find((run) => run.namespace === namespace && run.workflow === workflow && run.userId === userId);
}

/** `number`: its place in the order of arrival. */
export function signal(world: World, namespace: string, call: SignalCall, number: number): Called {
  const { now } = world;
  const run =
    "runId" in call ? findRun(world, call.runId, namespace) : findByUserId(world, namespace, call.workflow, call.id);
  if (run === undefined) return { answer: { outcome: "unknown" }, hasEffect: false };
  const { id: runId } = run;
  if (run.signals.some(({ id }) => id === call.signalId))
    return { answer: { outcome: "sent", runId, turn: unclaimedTurn(run, now) }, hasEffect: false };
  const { name, encodedPayload: payload, dedupeId } = call;
  if (dedupeId !== undefined && run.signals.some((other) => other.name === name && other.dedupeId === dedupeId)) {
    return { answer: { outcome: "duplicate", runId }, hasEffect: false };
  }
  if (isOver(run)) return { answer: { outcome: "over", runId, status: run.status }, hasEffect: false };
  if (run.closed.includes(name)) return { answer: { outcome: "closed", runId }, hasEffect: false };
  const { count, bytes } = keptBy(run);
  if (count + 1 > mostKept || bytes + payload.length > mostKeptBytes) return refused("LO007");
  run.signals.push({ number, id: call.signalId, name, payload, dedupeId, receivedAt: now, takenAt: undefined });
  const isWaited = run.rows.some((row) => isAnswered(run, row)); // a run that was set back may have an answer already
  const turn = wake(run, isWaited, now);
  return { answer: { outcome: "sent", runId, now, turn }, hasEffect: true };
}

export function signalWithStart(world: World, namespace: string, call: SignalWithStartCall, number: number): Called {
  const started = start(world, namespace, call);
  const { runId, outcome, readyAt } = started.answer;
  if (typeof runId !== "string") return started;
  if ("isDeleted" in started.answer) return { answer: { outcome: "sent", runId, isNew: true }, hasEffect: false };
  const sent = signal(world, namespace, { ...call, runId }, number);
  if ("sqlState" in sent.answer) return sent;
  const isNew = outcome === "started";
  const answer = { ...sent.answer, isNew, readyAt, turn: sent.answer["turn"] ?? (isNew ? 1 : null), now: world.now };
  return { answer, hasEffect: started.hasEffect || sent.hasEffect };
}

export const mostKept = 10_000;
export const mostKeptBytes = 16 * 1024 * 1024;

/** The signals that the run has not taken. */
export function keptBy({ signals, flood = { count: 0, bytes: 0, last: 0 } }: Run): { count: number; bytes: number } {
  const untaken = signals.filter(({ takenAt }) => takenAt === undefined);
  const bytes = untaken.reduce((sum, { payload }) => sum + payload.length, 0);
  return { count: untaken.length + flood.count, bytes: bytes + flood.bytes };
}

export function refused(sqlState: string): Called {
  return { answer: { sqlState }, hasEffect: false };
}

/** Answers the turn to dispatch, or null. */
function wake(run: Run, isWaited: boolean, now: number): number | null {
  if (!isWaited || run.status !== "parked" || isReady(run, now)) return null;
  run.readyAt = now;
  return isStill(run) ? null : run.turn;
}

/** The turn that is ready and that nobody has claimed: whoever sends the same again is told of it, as the first answer may be lost. */
function unclaimedTurn(run: Run, now: number): number | null {
  return run.status === "parked" && isReady(run, now) && !isStill(run) ? run.turn : null;
}

export function answerCallback(world: World, namespace: string, call: CallbackCall): Called {
  const { now } = world;
  const { path, occurrence, outcome, value } = call;
  const run = findRun(world, call.runId, namespace);
  if (run === undefined) return { answer: { outcome: "unknown" }, hasEffect: false };
  const first = call.epoch === 0 ? run.answers.find((other) => isSamePlace(other, call)) : undefined;
  if (first !== undefined) {
    const isSame = first.outcome === outcome && first.value === value;
    const told = first.outcome === "expired" ? "expired" : isSame ? "answered" : "conflict";
    const turn = told === "answered" ? unclaimedTurn(run, now) : null;
    return { answer: { outcome: told, turn }, hasEffect: false };
  }
  const waitsNoMore = isOver(run) || run.cancelledPosition !== undefined || run.ending !== undefined;
  if (waitsNoMore || call.epoch !== 0) return { answer: { outcome: "over" }, hasEffect: false };
  const wait = run.rows.find((row) => row.kind === "callback" && !row.isReleased && isSamePlace(row, call));
  const mayTimeOut = run.status === "running" ? now : now - 1; // a turn under way may be recording the timeout
  if (wait?.until !== undefined && wait.until <= mayTimeOut)
    return { answer: { outcome: "expired" }, hasEffect: false };
  run.answers.push({ path, occurrence, outcome, value, answeredAt: now, takenAt: undefined });
  const turn = wake(run, wait !== undefined, now);
  return { answer: { outcome: "answered", now, turn }, hasEffect: true };
}
