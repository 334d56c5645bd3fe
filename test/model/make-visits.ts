/** Wishes of those outside: starts, signals, answers to callbacks, operations. */
import type { OperationVerb } from "../../src/postgres/wire-operations.ts";
import type { StartCall } from "../../src/postgres/wire-verbs.ts";
import {
  answerCallback,
  findByUserId,
  keptBy,
  mostKept,
  mostKeptBytes,
  refused,
  signal,
  signalWithStart,
  start,
} from "./mail.ts";
import { text } from "./match.ts";
import { changeWorkflow, followWorkflow, operate, operateMany } from "./operations.ts";
import { arm, armedFor, isOver } from "./rules.ts";
import type { Run } from "./run.ts";
import { pick, type Script } from "./script.ts";
import { day, signalsOffered } from "./settings.ts";
import type { AnswerWish, FloodWish, OperateWish, SignalWish, StartWish } from "./visit-wishes.ts";
import type { World } from "./world.ts";

export function makeStart(script: Script, wish: StartWish): void {
  const { world } = script;
  const { isBare, isAhead, userId, delayMs, timeoutMs, isElsewhere } = wish;
  const namespace = script.namespace(isElsewhere);
  const runId = isAhead ? idOfTime(world.now + day + 1) : (pick(world.ids, wish.run) ?? "");
  const call: StartCall = {
    runId,
    workflow: "order",
    version: wish.isCarried ? 1 : 2,
    encodedInput: wish.input,
    ...(userId !== undefined && { id: userId }),
    ...(delayMs > 0 && { delayMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  const readyAt = world.now + delayMs;
  const armed = isBare ? keptForNextTick(world, readyAt) : armedFor(world, [readyAt]);
  const words = `start ${isAhead ? "a run of tomorrow" : script.letter(runId)}${isElsewhere ? " in the other namespace" : ""}: ${text({ ...call, runId: undefined })}`;
  const p = { ...call, namespace, ...(armed !== undefined && { armed }) };
  if (wish.signal === undefined) {
    script.call("start_run", p, words, wish.isLate, (now) =>
      isAhead ? refused("LO006") : start(now, namespace, call),
    );
    return;
  }
  if (isBare) keptForNextTick(world, world.now);
  const { number, ...signal } = nextSignal(world, runId, wish.signal);
  const act = (now: World) =>
    isAhead ? refused("LO006") : signalWithStart(now, namespace, { ...call, ...signal }, number);
  script.call("signal_with_start", { ...p, ...signal }, `${words}, with ${text(signal)}`, wish.isLate, act, number);
}

function nextSignal(
  world: World,
  runId: string,
  { name: wished, dedupeId, isRepeat }: NonNullable<StartWish["signal"]>,
) {
  world.numbers.signal += 1;
  const { signal: number } = world.numbers;
  const { id, name } = (isRepeat ? world.lastSignal : undefined) ?? { id: signalIdOf(number), name: wished };
  world.lastSignal = { id, runId, name };
  return { number, signalId: id, name, encodedPayload: `payload ${number}`, ...(dedupeId && { dedupeId }) };
}

function idOfTime(at: number): string {
  const hex = at.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Signals of a name that nobody waits for, until the run may keep one more or none; and two more. */
export function makeFlood(script: Script, { run: index, ofWhat, room }: FloodWish): void {
  const { world } = script;
  const run = pick(
    world.runs.filter((one) => !isOver(one) && one.flood === undefined),
    index,
  );
  if (run === undefined) return;
  const first = world.numbers.signal + 1;
  world.numbers.signal += signalsOffered;
  const offered = Array.from({ length: signalsOffered }, (_, place) => first + place);
  const shown = { name: "green", payload: "x", dedupeId: undefined, receivedAt: world.now, takenAt: undefined };
  run.signals.push(...offered.map((number) => ({ ...shown, number, id: signalIdOf(number) })));
  const kept = keptBy(run);
  const numbered = (more: { count: number; bytes: number }) => ({ ...more, last: moreFrom(run) + more.count });
  run.flood =
    ofWhat === "signals"
      ? numbered({ count: mostKept - kept.count - room, bytes: mostKept - kept.count - room })
      : numbered({ count: 1, bytes: mostKeptBytes - kept.bytes - 12 * room });
  arm(world, [world.now]);
  const { id: runId, flood } = run;
  script.add(
    "flood",
    { runId, first, offered: signalsOffered, more: moreFrom(run), ...flood },
    `flood ${script.letter(runId)} with ${ofWhat}`,
    null,
  );
  for (const name of ["red", "blue"]) makeSignal(script, { ...aSignal, run: world.runs.indexOf(run), name });
}

/** The number after which those come that are never offered. */
function moreFrom({ id }: Run): number {
  return 1_000_000 * Number.parseInt(id.slice(-1), 16);
}

const aSignal: Omit<SignalWish, "run" | "name"> = {
  kind: "signal",
  isAwaited: false,
  dedupeId: undefined,
  isRepeat: false,
  byUserId: false,
  isElsewhere: false,
  isBare: false,
  isLate: false,
};

export function makeSignal(script: Script, wish: SignalWish): void {
  const { world } = script;
  const waits = world.runs.flatMap((run) => run.rows.flatMap(({ signal }) => (signal ? [{ run, name: signal }] : [])));
  const awaited = wish.isAwaited ? pick(waits, wish.run) : undefined;
  const run = awaited?.run ?? pick(world.runs, wish.run);
  if (run === undefined) return;
  const last = wish.isRepeat ? world.lastSignal : undefined;
  world.numbers.signal += 1;
  const { signal: number } = world.numbers;
  const { name, runId, id } = last ?? { name: awaited?.name ?? wish.name, runId: run.id, id: signalIdOf(number) };
  world.lastSignal = { id, runId, name };
  const { userId, namespace: own } = run;
  const { dedupeId, isElsewhere } = wish;
  const isById = wish.byUserId && userId !== undefined && last === undefined;
  const key = isById ? { workflow: run.workflow, id: userId } : { runId };
  const call = { ...key, signalId: id, name, encodedPayload: `payload ${number}`, ...(dedupeId && { dedupeId }) };
  const namespace = script.namespace(isElsewhere, own);
  const armed = wish.isBare ? keptForNextTick(world, world.now) : armedFor(world, []);
  const target = isById ? findByUserId(world, namespace, run.workflow, userId)?.id : runId;
  const words = `signal ${script.letter(target)}${wrong(isElsewhere)}: ${text({ ...call, runId: undefined })}`;
  const p = { ...call, namespace, ...(armed !== undefined && { armed }) };
  script.call("send_signal", p, words, wish.isLate, (now) => signal(now, namespace, call, number), number);
}

function signalIdOf(number: number): string {
  return `20000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

export function makeAnswer(script: Script, wish: AnswerWish): void {
  const { world } = script;
  const { which, index, isElsewhere, outcome, value } = wish;
  const waiting = world.runs.flatMap((run) =>
    run.rows.filter(({ kind }) => kind === "callback").map((place) => ({ run, place })),
  );
  const answered = world.runs.flatMap((run) => run.answers.map((place) => ({ run, place })));
  const chosen = { waiting: pick(waiting, index), answered: pick(answered, index), next: undefined }[which];
  const run = chosen?.run ?? pick(world.runs, wish.run);
  if (run === undefined) return;
  const { path, occurrence } = chosen?.place ?? { path: "c", occurrence: 1 + (run.occurrences.get("c") ?? 0) };
  const call = { runId: run.id, epoch: wish.isOtherEpoch ? 1 : 0, path, occurrence, outcome, value };
  const namespace = script.namespace(isElsewhere, run.namespace);
  const armed = armedFor(world, []);
  const words = `answer ${script.letter(run.id)}${wrong(isElsewhere)}: ${text({ ...call, runId: undefined })}`;
  script.call("answer_callback", { ...call, namespace, armed }, words, wish.isLate, (now) =>
    answerCallback(now, namespace, call),
  );
}

export function makeOperation(script: Script, wish: OperateWish): void {
  const { verb, isOfMany } = wish;
  if (isOfMany && verb !== "delete") makeOperationOfMany(script, { ...wish, verb });
  else makeOperationOfOne(script, wish);
}

function makeOperationOfOne(script: Script, wish: OperateWish): void {
  const { world } = script;
  const { isElsewhere, isLate } = wish;
  const fits = (one: Run) =>
    wish.verb === "delete" ? isOver(one) : !isOver(one) && (one.pausedAt === undefined) === (wish.verb !== "resume");
  const fitting = wish.isFitting ? world.runs.filter(fits) : [];
  const run = pick(fitting, wish.run) ?? pick(world.runs, wish.run);
  if (run === undefined) return;
  world.numbers.operation += 1;
  const callId = `30000000-0000-4000-8000-${world.numbers.operation.toString(16).padStart(12, "0")}`;
  const last = wish.isRepeat ? world.lastOperation : undefined;
  const { verb, call } = last ?? { verb: wish.verb, call: { runId: run.id, callId, by: "ada", reason: "to see" } };
  world.lastOperation = { verb, call };
  const own = world.runs.find(({ id }) => id === call.runId)?.namespace;
  const namespace = script.namespace(isElsewhere, own);
  const p = { ...call, namespace, armed: armedFor(world, []) };
  const words = `${verb} ${script.letter(call.runId)}${wrong(isElsewhere)}${last === undefined ? "" : ", again"}`;
  script.call(`${verb}_run`, p, words, isLate, (now) => operate(now, namespace, verb, call));
}

/** The filter fits all runs of the model. The callId holds a time that is later than any of theirs. */
function makeOperationOfMany(
  script: Script,
  { verb: wished, run, isFitting, isElsewhere, isLate, ofWorkflow }: OperateWish & { readonly verb: OperationVerb },
): void {
  const { world } = script;
  world.numbers.operation += 1;
  const callId = `ffffffff-ffff-7000-8000-${world.numbers.operation.toString(16).padStart(12, "0")}`;
  const call = { callId, by: "ada", reason: "to see" };
  const namespace = script.namespace(isElsewhere, pick(world.runs, run)?.namespace);
  const fitting = world.workflowPauses.get(namespace)?.isPaused === true ? "resume" : "pause";
  const verb = isFitting && ofWorkflow !== "no" ? fitting : wished;
  const p = { ...call, verb, filter: { workflow: "order" }, namespace, armed: armedFor(world, []) };
  const words = `${verb} all${wrong(isElsewhere)}`;
  if (ofWorkflow !== "no" && (verb === "pause" || verb === "resume")) {
    if (ofWorkflow !== "runs") {
      const ofIt = { ...call, workflow: "order", namespace };
      script.call(`${verb}_workflow`, ofIt, `${verb} the workflow${wrong(isElsewhere)}`, isLate, (now) =>
        changeWorkflow(now, namespace, verb, callId),
      );
    }
    if (ofWorkflow !== "alone") {
      script.call("operate_runs", { ...p, holds: true }, `${words} with their workflow`, isLate, (now) =>
        followWorkflow(now, namespace, verb, call),
      );
    }
    return;
  }
  script.call("operate_runs", p, words, isLate, (now) => operateMany(now, namespace, verb, call));
}

/** Bare SQL arms nothing. */
function keptForNextTick(world: World, at: number): undefined {
  arm(world, [at]);
}

export function wrong(isElsewhere: boolean): string {
  return isElsewhere ? " (wrong namespace)" : "";
}
