/** Wishes of those outside: starts, signals, answers to callbacks, operations. */
import type { StartCall } from "../../src/postgres/wire-verbs.ts";
import { answerCallback, findByUserId, keptBy, mostKept, mostKeptBytes, refused, signal, start } from "./mail.ts";
import { text } from "./match.ts";
import { operate } from "./operations.ts";
import { arm, armedFor, isOver } from "./rules.ts";
import { pick, type Script } from "./script.ts";
import type { AnswerWish, FloodWish, OperateWish, SignalWish, StartWish } from "./wishes.ts";
import { day, type Run, signalsOffered, type World } from "./world.ts";

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
  const { runId: _, ...rest } = call;
  const words = `start ${isAhead ? "a run of tomorrow" : script.letter(runId)}${isElsewhere ? " in the other namespace" : ""}: ${text(rest)}`;
  const p = { ...call, namespace, ...(armed !== undefined && { armed }) };
  script.call("start_run", p, words, wish.isLate, (now) => (isAhead ? refused("LO006") : start(now, namespace, call)));
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
  run.flood =
    ofWhat === "signals"
      ? { count: mostKept - kept.count - room, bytes: mostKept - kept.count - room }
      : { count: 1, bytes: mostKeptBytes - kept.bytes - 12 * room };
  arm(world, [world.now]);
  const { id: runId, flood } = run;
  script.add(
    "flood",
    { runId, first, offered: signalsOffered, ...flood },
    `flood ${script.letter(runId)} with ${ofWhat}`,
    null,
  );
  for (const name of ["red", "blue"]) makeSignal(script, { ...aSignal, run: world.runs.indexOf(run), name });
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
  const { world } = script;
  const { isElsewhere, isLate } = wish;
  const fits = (one: Run) => !isOver(one) && (one.pausedAt === undefined) === (wish.verb !== "resume");
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

/** Bare SQL arms nothing. */
function keptForNextTick(world: World, at: number): undefined {
  arm(world, [at]);
}

export function wrong(isElsewhere: boolean): string {
  return isElsewhere ? " (wrong namespace)" : "";
}
