/**
 * What is sent when a handler ends its turn, or the body of a branch: any that could exist, so long as it goes by what its
 * claim told it.
 */
import { dueForTimeout, punctual } from "../../src/core/waking.ts";
import type { FinishBranch, FinishRun, NewRecord, Saying } from "../../src/postgres/wire.ts";
import { type CarriedOut, Handler } from "./handler.ts";
import { findRun, freshToken } from "./rules.ts";
import type { Place, Run } from "./run.ts";
import { soonMs } from "./settings.ts";
import type { FinishItem } from "./turn-wishes.ts";
import type { BranchHolder, RunHolder, World } from "./world.ts";

export interface Plan<Turn> {
  readonly turn: Turn;
  /** Instants at which the scheduler may have to look. */
  readonly wakeInstants: readonly number[];
}

export function planBranch(world: World, holder: BranchHolder, item: FinishItem): Plan<Omit<FinishBranch, "armed">> {
  const { now } = world;
  const { runId, path, occurrence, turn, token } = holder;
  const finish = { runId, path, occurrence, turn, token };
  const says = item.says && { says: [{ value: `1"branch ${token.slice(-4)}"`, saidAfter: holder.attempts }] };
  const number = holder.attempts + 1;
  if (item.next === "block") {
    const blocked = "the code asks for something else";
    return { turn: { ...finish, blocked, ...refuserIn(item) }, wakeInstants: [] };
  }
  if (item.next === "set back") return { turn: { ...finish, setback: "it took too long" }, wakeInstants: [] };
  const attempt = { number, beganAt: now, endedAt: now, error: "no luck" };
  const announces = announcedBy(findRun(world, runId, holder.namespace), item);
  if (item.step.startsWith("retry")) {
    const retryInMs = toRetryMs(item);
    return {
      turn: { ...finish, ...announces, ...says, attempt: { ...attempt, retryInMs } },
      wakeInstants: [now + retryInMs],
    };
  }
  const isFailure = item.step === "failure";
  // Branches end side by side: one may report a time before that of a record ahead of it.
  const record = {
    value: `result ${token.slice(-4)}`,
    isFailure,
    at: now - 5 * item.index,
    beganAt: now,
    attempts: number,
  };
  const bytes = record.value.length;
  return { turn: { ...finish, ...announces, ...says, ...(isFailure && { attempt }), record, bytes }, wakeInstants: [] };
}

/** The place of a callback that the run waits for, or that somebody answered. */
function announcedBy(run: Run | undefined, { announces }: FinishItem): { readonly announces?: Place } {
  const waits = run?.rows.filter(({ kind }) => kind === "callback") ?? [];
  const place = announces ? [...(run?.answers ?? []), ...waits].at(-1) : undefined;
  return place === undefined ? {} : { announces: { path: place.path, occurrence: place.occurrence } };
}

function toRetryMs({ step, retryMs }: FinishItem): number {
  return step === "retry soon" ? Math.min(retryMs, soonMs) : Math.max(retryMs, soonMs + 1);
}

export function planRun(world: World, run: Run, holder: RunHolder, item: FinishItem): Plan<Omit<FinishRun, "armed">> {
  const handler = new Handler(world, run, holder);
  // It fails by what it saw of the history, and by nothing that came to it in this turn.
  const failsEarly = item.sawLess && item.next === "fail";
  if (!failsEarly) {
    handler.take(item.takes);
    for (const aside of item.asides) handler.pass(aside);
  }
  const released = item.releases ? handler.decideRaces() : [];
  const retryMs = toRetryMs(item);
  const step = !failsEarly && handler.mayStep(item) ? handler.carryOut(item.step, retryMs) : undefined;

  const wanted = toNext(item, run);
  const mustRetry = step?.retryInMs !== undefined;
  const mayGoOn = step !== undefined && handler.waiting.length === 0;
  const parks = mustRetry || wanted === "parked" || (wanted === "ready" && !mayGoOn);
  const isSetBack = item.next === "set back" && !mustRetry;
  const demands = parks && !mustRetry && !isSetBack ? handler.demand(item) : [];
  const owes = item.next === "fail" && !parks ? item.owes : undefined;
  const waits = mustRetry || demands.length > 0 || handler.waiting.length > 0;
  const next = owes !== undefined ? "ready" : isSetBack ? "parked" : parks ? (waits ? "parked" : "ready") : wanted;

  const position = item.sawLess && step === undefined ? Math.max(0, holder.seen - 1) : holder.seen;
  const { records } = handler;
  const end = run.cancel === undefined ? "failed" : (run.endsAs?.next ?? "cancelled");
  if (owes === "ending" && run.ending === undefined)
    records.push({
      kind: "ending",
      path: "",
      occurrence: 1,
      value: writeOwed(end),
      at: Math.max(world.now, run.lastRecordAt),
    });
  const turn: Omit<FinishRun, "armed"> = {
    runId: run.id,
    token: holder.token,
    position,
    next,
    ...(next !== "ready" && next !== "parked" && { value: `${next} by ${holder.token.slice(-4)}` }),
    ...(next === "blocked" && refuserIn(item)),
    ...(owes !== undefined && { endsAs: { next: end, value: `${end} by ${holder.token.slice(-4)}` } }),
    ...(owes === "closing" && run.ending === undefined && { closing: true as const }),
    ...(owes === "cleaning" && !isTold(run) && { closing: true as const, cleansUp: true as const }),
    ...(owes === "ending" && run.ending === undefined && { ending: 2 }),
    ...(next === "failed" && run.ending !== undefined && { failedUndos: 1 }),
    ...(isSetBack && { setback: "it took too long" }),
    ...(records.length > 0 && { records, bytes: bytesOf(records) }),
    ...(demands.length > 0 && { demands }),
    ...(step !== undefined && step.number !== undefined && { attempt: attemptOf(world, step) }),
    ...(released.length > 0 && { released }),
    ...(item.closes !== undefined && step === undefined && { closes: [item.closes] }),
    ...(item.says && { says: sayings(holder, position, records.length) }),
    ...(step?.number !== undefined && step.retryInMs === undefined && announcedBy(run, item)),
    ...(item.chains && next === "ready" && { claim: nextClaim(world, run, holder, position + records.length) }),
  };
  const untils = [...handler.waiting, ...demands].flatMap(({ until }) => (until === undefined ? [] : [until]));
  const retryAt = mustRetry ? [world.now + retryMs] : [];
  const waitsUntil = [...untils, ...retryAt];
  const { timeoutAt } = holder;
  const isTimeoutFirst = timeoutAt !== undefined && timeoutAt <= Math.min(...waitsUntil);
  return {
    turn,
    wakeInstants: isTimeoutFirst ? [...waitsUntil, dueForTimeout(timeoutAt, world.now, punctual)] : waitsUntil,
  };
}

/** Whether the run's handler knows by now that the run is to end. */
function isTold({ cancelledPosition, isClosing, ending }: Run): boolean {
  return cancelledPosition !== undefined || isClosing || ending !== undefined;
}

/** How the run is to end, as far as SQL reads it. */
function writeOwed(next: "failed" | "cancelled"): string {
  return JSON.stringify({ next });
}

/** What the run says of itself: before the turn's own records, and after the last of them. */
function sayings({ token }: RunHolder, position: number, records: number): Saying[] {
  const saidAfters = records === 0 ? [position] : [position, position + records];
  return saidAfters.map((saidAfter) => ({ value: `1"${token.slice(-4)} after ${saidAfter}"`, saidAfter }));
}

function bytesOf(records: readonly NewRecord[]): number {
  return records.reduce((sum, { value = "" }) => sum + value.length, 0);
}

function refuserIn({ by }: FinishItem): { readonly deployment?: string } {
  return by === undefined ? {} : { deployment: by };
}

function toNext({ next }: FinishItem, run: Run): FinishRun["next"] {
  switch (next) {
    case "park":
    case "set back":
      return "parked";
    case "go on":
      return "ready";
    case "complete":
      return "completed";
    case "fail":
      return run.cancel !== undefined && run.cancelledPosition !== undefined ? "cancelled" : "failed";
    case "block":
      return "blocked";
  }
}

function attemptOf(world: World, { number = 1, retryInMs, ...place }: CarriedOut): NonNullable<FinishRun["attempt"]> {
  const { now } = world;
  const attempt = { ...place, number, beganAt: now, endedAt: now, error: "no luck" };
  return retryInMs === undefined ? attempt : { ...attempt, retryInMs };
}

function nextClaim(world: World, run: Run, { turn }: RunHolder, position: number): NonNullable<FinishRun["claim"]> {
  const have = { epoch: 0, position, version: run.version };
  return { runId: run.id, turn: turn + 1, token: freshToken(world), alone: false, have };
}
