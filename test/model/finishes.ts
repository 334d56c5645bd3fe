/** What a finish means: a turn's records, demands and end, if its lease stands and it saw the whole history. */
import type { FinishBranch, FinishRun, NewDemand, Saying } from "../../src/postgres/wire.ts";
import { type ClaimTerms, claim } from "./claims.ts";
import { anyOf, inAnyOrder } from "./match.ts";
import { refuse } from "./refusals.ts";
import {
  dropRows,
  earliest,
  fillSlots,
  findRow,
  findRun,
  freeSlots,
  isAboutToClose,
  isAnswered,
  isAtWork,
  isLive,
  isOver,
  isReady,
  isSamePlace,
  isStill,
  isToBeCancelled,
  releaseAll,
  setBack,
  setBackRow,
  spare,
  stopsAt,
  toRow,
  use,
  waitedFor,
} from "./rules.ts";
import { type Answer, type Entry, noLosses, type Place, type Row, type Run, soonMs, type World } from "./world.ts";

const superseded = { outcome: "superseded" };

export function finish(world: World, terms: ClaimTerms, turn: FinishRun | FinishBranch): Answer {
  if ("path" in turn) return finishBranch(world, terms.namespace, turn);
  const answer = finishRun(world, terms.namespace, turn);
  const run = findRun(world, turn.runId, terms.namespace);
  if (turn.claim === undefined || answer["outcome"] !== "finished" || answer["isReady"] !== true) return answer;
  // Its process knows a record of the ending that was not kept.
  if (turn.ending !== undefined && run?.ending === undefined) return answer;
  if (run !== undefined && isStill(run)) return { outcome: "finished", turn: answer["turn"] };
  const claimed = claim(world, terms, turn.claim);
  // The holder goes on, so it knows what it has begun: the database may leave that out.
  const told = Object.fromEntries(Object.entries(Object(claimed)).filter(([key]) => key !== "begun"));
  return { outcome: "finished", turn: answer["turn"], claim: told };
}

function finishRun(world: World, namespace: string, f: FinishRun): Answer {
  const { now } = world;
  const run = findRun(world, f.runId, namespace);
  if (run === undefined) return { outcome: "unknown" };
  if (run.lastFinish?.token === f.token) {
    const { answer } = run.lastFinish;
    // Only a crash loop and an upgrade move a turn that nobody finished.
    return { ...answer, turn: anyOf(answer["turn"], run.turn) };
  }
  if (run.lease?.token !== f.token) {
    spare(run, f.token);
    return superseded;
  }

  const isSetBack = f.setback !== undefined && f.position === run.history.length && !hasCome(run, f);
  if (isSetBack && (f.records?.length ?? 0) > 0) run.setback = undefined; // it has got on so far
  const triedAgainAt = isSetBack ? setBack(run, now) : undefined;
  if (f.ending !== undefined && run.rows.some(({ lease }) => isLive(lease, now)))
    return finishRun(world, namespace, { ...withoutEnding(f), closing: true });
  const isWhole = f.position === run.history.length && !hasCome(run, f);
  if (isWhole && (f.ending !== undefined || f.closing) && isPastTimeout(run, f))
    return finishRun(world, namespace, withoutEnding(f));
  const next = isWhole && isPastTimeout(run, f) ? "ready" : f.next;
  const through = isWhole ? f.position + (f.records?.length ?? 0) : f.position;
  run.status = "parked";
  run.turn += 1;
  run.lease = undefined;
  run.loneClaims = 0;
  run.beginnings = 0;
  run.losses = noLosses;
  run.handed = Math.max(run.handed, through);
  run.readyAt = now;
  run.isInterrupted &&= isWhole ? hasGotNowhere(f) : !carriesOut(f);
  run.says = lastSaying(f.says, isWhole ? Number.POSITIVE_INFINITY : f.position) ?? run.says;
  run.rows = run.rows.filter(({ position }) => position === undefined || position > f.position);
  if (isWhole) {
    record(run, f);
    run.closed.push(...(f.closes ?? []));
    recordAttempt(run, f, now);
  } else keepDropped(run, f);
  const isEnding = isWhole && isEnd(next);
  const isLeft = isEnding || (isWhole && f.ending !== undefined); // nothing of it is waited for any more
  const freed = isLeft ? [] : release(run, f, through, now);
  if (isWhole) close(run, f);
  if (isEnding) end(run, f, now);
  const added = isEnding ? [] : recordDemands(run, f, through, now);
  if (isWhole && f.next === "blocked") refuse(world, run, f.deployment);
  if (isWhole && f.next === "parked") park(run, now);
  if (isSetBack) holdUp(run, triedAgainAt, now);

  const answer = answerOf(run, { now, isWhole, next, branches: isEnding ? [] : [...freed.filter(isKept), ...added] });
  run.lastFinish = { token: f.token, answer };
  return answer;
}

function isKept({ isReleased }: Row): boolean {
  return !isReleased;
}

interface Finished {
  readonly now: number;
  readonly isWhole: boolean;
  readonly next: FinishRun["next"];
  /** The branches that the run waits for beside its next turn. */
  readonly branches: readonly Row[];
}

/** Answers a finish that took effect. */
function answerOf(run: Run, { now, isWhole, next, branches }: Finished): Answer {
  if (isWhole && next === "ready" && branches.length === 0)
    return { outcome: "finished", turn: run.turn, ...(!isStill(run) && { isReady: true }) };
  const places = branches.map(({ path, occurrence, turn }) => ({ path, occurrence, turn }));
  return {
    outcome: isWhole ? "finished" : "deferred",
    turn: run.turn,
    status: run.status,
    isReady: isReady(run, now) && !isStill(run),
    branches: places.length === 0 ? null : inAnyOrder(places),
    ...(isWhole && !isStill(run) && !isReady(run, now) && { readyAt: run.readyAt ?? null }),
  };
}

/** Whether mail of a name that it closes is there and not taken by it, or the answer whose announcement it says has failed. */
export function hasCome(run: Run, { closes = [], announces, records = [] }: FinishRun): boolean {
  const isLeft = ({ name, number, takenAt }: Run["signals"][number]) =>
    closes.includes(name) && takenAt === undefined && !records.some(({ signal }) => signal === number);
  return run.signals.some(isLeft) || (announces !== undefined && run.answers.some((it) => isUntaken(it, announces)));
}

/** What the finish says of the run; one that was deferred: only what was said by the position that its turn saw. */
function lastSaying(says: readonly Saying[] = [], through: number): string | undefined {
  return says.findLast(({ saidAfter }) => saidAfter <= through)?.value;
}

function isUntaken(answer: Run["answers"][number], place: Place): boolean {
  return answer.takenAt === undefined && isSamePlace(answer, place);
}

function isEnd(next: FinishRun["next"]): boolean {
  return next === "completed" || next === "failed" || next === "cancelled";
}

/** A run whose last record came after its timeout, or whose cancel was asked for, does not end: that is to be recorded first. */
function isPastTimeout(run: Run, { next, records = [], ending, closing }: FinishRun): boolean {
  const ends = isEnd(next) || ending !== undefined || closing === true;
  if (!ends || run.cancelledPosition !== undefined || run.ending !== undefined) return false;
  if (run.cancel !== undefined) return true;
  if (run.timeoutAt === undefined) return false;
  return (records.at(-1)?.at ?? run.lastRecordAt) > run.timeoutAt;
}

/** Whether a finish is stored without its record of the ending: somebody is at work still, or the run was to end otherwise. */
export function isEndingRefused(run: Run, f: FinishRun, now: number): boolean {
  return f.ending !== undefined && (run.rows.some(({ lease }) => isLive(lease, now)) || isPastTimeout(run, f));
}

function withoutEnding({ ending, closing: _, claim, records = [], ...f }: FinishRun): FinishRun {
  if (ending === undefined) return { ...f, records, ...(claim !== undefined && { claim }) };
  return { ...f, records: records.slice(0, -1) };
}

/** Its handler has ended. It closes, or what it owes stands in its history now. */
function close(run: Run, { closing, ending, failedUndos }: FinishRun): void {
  if (run.ending !== undefined && failedUndos !== undefined) run.ending.failed = failedUndos;
  if (!closing && ending === undefined) return;
  run.timeoutAt = undefined;
  releaseAll(run, () => true);
  run.isClosing = ending === undefined;
  if (ending === undefined) return;
  run.ending = { position: run.history.length, undos: ending, failed: undefined };
  run.rows = [];
}

/** Records are appended; each ends what waited at its place, and takes what came for it. */
function record(run: Run, { records = [], bytes = 0 }: FinishRun): void {
  run.historyBytes += bytes;
  for (const { kind, path, occurrence, value = null, isFailure = false, at, attempts = 1, signal } of records) {
    run.history.push({ kind, path, occurrence, value, isFailure, at, attempts });
    use(run, { path, occurrence });
    run.lastRecordAt = at;
    const position = run.history.length;
    run.rows = run.rows.filter((row) => !isSamePlace(row, { path, occurrence }) || row.position !== undefined);
    const taken = run.signals.find(({ number }) => number === signal);
    if (taken !== undefined) taken.takenAt = position;
    if (kind !== "callback") continue;
    const answer = run.answers.find((other) => isSamePlace(other, { path, occurrence }));
    if (value === null) {
      run.answers = run.answers.filter((other) => other !== answer);
      run.answers.push({ path, occurrence, outcome: "expired", value: null, answeredAt: at, takenAt: position });
    } else if (answer !== undefined) answer.takenAt = position;
  }
}

/** Tells whether the turn has ended before it carried out anything. */
function hasGotNowhere({ setback, next, attempt, records = [] }: FinishRun): boolean {
  return (setback !== undefined || next === "blocked") && attempt === undefined && records.length === 0;
}

/** Tells whether the turn has carried out a step. */
function carriesOut({ attempt, records = [] }: FinishRun): boolean {
  return attempt !== undefined || records.some(({ kind }) => kind === "step");
}

/** The steps that a turn has carried out leave attempts, where its records are dropped. */
function keepDropped(run: Run, { attempt, records = [] }: FinishRun): void {
  for (const { kind, path, occurrence, attempts = 1 } of records)
    if (kind === "step") run.attempts.add(`${path}#${occurrence}/${attempts}`);
  if (attempt !== undefined) run.attempts.add(`${attempt.path}#${attempt.occurrence}/${attempt.number}`);
}

function recordAttempt(run: Run, { attempt }: FinishRun, now: number): void {
  if (attempt === undefined) return;
  const { path, occurrence, number, demandedAfter, retryInMs } = attempt;
  run.attempts.add(`${path}#${occurrence}/${number}`);
  use(run, { path, occurrence });
  if (retryInMs === undefined) return;
  const earlier = findRow(run, { path, occurrence });
  const row = earlier ?? { ...toRow({ path, occurrence, kind: "retry", demandedAfter, ordinal: 0 }, now) };
  row.attempts = number;
  row.readyAt = now + retryInMs;
  if (earlier === undefined) run.rows.push(row);
}

/**
 * Losers of decided races are waited for no more and have left their map; only one that somebody works on stays, to
 * record what it did. Answers who got the slots that fell free.
 */
function release(run: Run, { released = [] }: FinishRun, through: number, now: number): Row[] {
  const prefixes = released.filter(({ position }) => position <= through).map(({ prefix }) => prefix);
  const isBelow = (path: string) => prefixes.some((prefix) => path.startsWith(prefix));
  const losers = run.rows.filter((row) => row.position === undefined && isBelow(row.path));
  for (const path of [...run.maps.keys()]) if (isBelow(path)) run.maps.delete(path);
  const maps = new Set(losers.flatMap(({ map }) => (map === undefined ? [] : [map])));
  for (const row of losers) Object.assign(row, { isReleased: true, isQueued: false, isCounted: false, map: undefined });
  dropRows(run, ({ isReleased, lease, path }) => isReleased && isBelow(path) && !isLive(lease, now));
  return [...maps].flatMap((map) => fillSlots(run, map, now));
}

function recordDemands(run: Run, { demands = [] }: FinishRun, through: number, now: number): Row[] {
  const isNew = (demand: NewDemand) => findRow(run, demand) === undefined || isBetweenAttempts(run, demand);
  const fresh = demands.filter((demand) => demand.demandedAfter <= through && isNew(demand));
  const added: Row[] = [];
  for (const demand of fresh.toSorted((one, other) => one.ordinal - other.ordinal)) {
    const { map } = demand;
    if (map !== undefined && !run.maps.has(map.path)) {
      run.maps.set(map.path, { slots: map.slots, failsFast: map.failsFast });
    }
    const row = toRow(demand, now);
    row.isQueued = row.map !== undefined && freeSlots(run, row.map) < 1;
    const earlier = findRow(run, demand);
    if (earlier !== undefined) goOnBeside(row, earlier, now);
    run.rows = [...run.rows.filter((other) => other !== earlier), row];
    use(run, row);
    if (isAtWork(row) && (row.readyAt ?? now) <= now) added.push(row);
  }
  return added;
}

/** Whether new code asks for something beside a step that waits for its next attempt. The step becomes a branch. */
function isBetweenAttempts(run: Run, demand: NewDemand): boolean {
  return demand.kind === "branch" && findRow(run, demand)?.kind === "retry";
}

/** The branch has the attempts of the step that it was, and its next one when that was to come. */
function goOnBeside(row: Row, { attempts, readyAt }: Row, now: number): void {
  row.attempts = attempts;
  row.readyAt = readyAt;
  row.isCounted &&= row.isQueued || (readyAt ?? now) <= now + soonMs;
}

/** It waits: until its first instant, or for something that came already. */
function park(run: Run, now: number): void {
  const instants = run.rows.map((row) => (row.kind === "retry" ? row.readyAt : row.until));
  const isMet = isToBeCancelled(run, now) || run.rows.some((row) => isAnswered(run, row));
  run.readyAt = isMet ? now : earliest(...instants, stopsAt(run));
}

/** It waits for the next try, whatever it would wait for else; or it was tried often enough. */
function holdUp(run: Run, until: number | undefined, now: number): void {
  run.isBlocked ||= until === undefined;
  run.readyAt = until === undefined || isToBeCancelled(run, now) ? now : earliest(until, stopsAt(run));
}

function end(run: Run, { next, value = "" }: FinishRun, now: number): void {
  if (next !== "completed" && next !== "failed" && next !== "cancelled") return;
  run.status = next;
  run.endedAt = now;
  run.readyAt = undefined;
  run.isBlocked = false;
  run.result = next === "completed" ? value : null;
  run.error = next === "completed" ? null : value;
  run.rows = [];
  run.maps.clear();
}

function finishBranch(world: World, namespace: string, f: FinishBranch): Answer {
  const { now } = world;
  const run = findRun(world, f.runId, namespace);
  if (run === undefined) return { outcome: "unknown" };
  const row = findRow(run, f);
  if (row?.lastFinish?.token === f.token) return row.lastFinish.answer;
  if (row?.lease?.token !== f.token) {
    if (row !== undefined) spare(row, f.token);
    return superseded;
  }
  row.lease = undefined;
  row.loneClaims = 0;
  row.beginnings = 0;
  row.losses = noLosses;
  f = settleAnnouncement(run, f);
  if (f.setback !== undefined) {
    setBackRow(run, row, now);
    return { outcome: "finished", turn: f.turn + 1 };
  }
  if (f.blocked !== undefined) {
    const wasBlocked = run.isBlocked;
    refuse(world, run, f.deployment);
    const isReady = !run.isBlocked && !isOver(run) && run.pausedAt === undefined;
    return { outcome: "finished", turn: f.turn, isReady: isReady && !wasBlocked };
  }

  run.says = lastSaying(f.says, Number.POSITIVE_INFINITY) ?? run.says;
  const { map } = row;
  const wasCounted = row.isCounted;
  const wasReady = isReady(run, now);
  const retryInMs = f.attempt?.retryInMs;
  if (f.attempt !== undefined) run.attempts.add(`${f.path}#${f.occurrence}/${f.attempt.number}`);
  row.turn += 1;
  row.isCounted = wasCounted && retryInMs !== undefined && retryInMs <= soonMs;
  row.readyAt = retryInMs === undefined ? undefined : now + retryInMs;
  run.historyBytes += f.bytes ?? 0;
  let next: Row[] = [];
  if (f.record === undefined) row.attempts += 1;
  else {
    run.history.push(branchEntry(run, f, f.record));
    run.lastRecordAt = run.history.at(-1)?.at ?? now;
    row.position = run.history.length;
    if (map !== undefined) next = fillSlots(run, map, now);
  }
  const continues = !row.isReleased && isContinued(run, map, f, wasCounted);
  if (continues) run.readyAt = earliest(run.readyAt, now);
  const answer = {
    outcome: "finished",
    turn: f.turn + 1,
    continues:
      ((continues && !wasReady) || isLastAtWork(run, now)) && run.status === "parked" && !isStill(run)
        ? run.turn
        : null,
    branches: next.length === 0 ? null : next.map(({ path, occurrence, turn }) => ({ path, occurrence, turn })),
  };
  row.lastFinish = { token: f.token, answer };
  return answer;
}

/** An announcement that failed has succeeded, if somebody answered. */
export function settleAnnouncement(run: Run, f: FinishBranch): FinishBranch {
  const { announces, attempt, ...others } = f;
  if (announces === undefined || attempt === undefined) return f;
  if (!run.answers.some((answer) => isUntaken(answer, announces))) return f;
  const { beganAt, endedAt: at, number: attempts } = attempt;
  return { ...others, record: { value: '1{"$":"undefined"}', isFailure: false, at, beganAt, attempts } };
}

/** The run's timeout or cancel waits for nobody any more. It waits for what cleans up only when the hour of that is over. */
function isLastAtWork(run: Run, now: number): boolean {
  const isLate = run.isClosing || run.cancelledPosition !== undefined;
  return (
    isAboutToClose(run, now) && !run.rows.some(({ lease, isShielded }) => (isLate || !isShielded) && isLive(lease, now))
  );
}

function branchEntry(run: Run, { path, occurrence }: Place, record: NonNullable<FinishBranch["record"]>): Entry {
  const { value, isFailure, attempts } = record;
  return { kind: "step", path, occurrence, value, isFailure, attempts, at: Math.max(record.at, run.lastRecordAt) };
}

/** A plain branch's record continues its run; a map's, when nobody else is at work or a failure is enough. */
function isContinued(run: Run, map: string | undefined, { record }: FinishBranch, wasCounted: boolean): boolean {
  if (map === undefined) return record !== undefined;
  const scope = run.maps.get(map);
  if (scope === undefined) return false;
  if (record?.isFailure && scope.failsFast) return true;
  return waitedFor(run, map).length === 0 && (record !== undefined || wasCounted);
}
