/** Wishes of those outside: starts, signals, answers to callbacks. */
import type { StartCall } from "../../src/postgres/wire-verbs.ts";
import { answerCallback, findByUserId, signal, start } from "./mail.ts";
import { text } from "./match.ts";
import { arm, armedFor } from "./rules.ts";
import { pick, type Script } from "./script.ts";
import type { AnswerWish, SignalWish, StartWish } from "./wishes.ts";
import type { World } from "./world.ts";

export function makeStart(script: Script, wish: StartWish): void {
  const { world } = script;
  const { isBare, userId, delayMs, timeoutMs, isElsewhere } = wish;
  const namespace = script.namespace(isElsewhere);
  const runId = pick(world.ids, wish.run) ?? "";
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
  const words = `start ${script.letter(runId)}${isElsewhere ? " in the other namespace" : ""}: ${text(rest)}`;
  const p = { ...call, namespace, ...(armed !== undefined && { armed }) };
  script.call("start_run", p, words, wish.isLate, (now) => start(now, namespace, call));
}

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

/** Bare SQL arms nothing. */
function keptForNextTick(world: World, at: number): undefined {
  arm(world, [at]);
}

export function wrong(isElsewhere: boolean): string {
  return isElsewhere ? " (wrong namespace)" : "";
}
