/** What the finish of a run's turn leaves behind in the run: records, attempts, demands, its wait, its end. */
import type { FinishRun, NewDemand, Saying } from "../../src/postgres/wire.ts";
import {
  dropRows,
  earliest,
  fillSlots,
  findRow,
  freeSlots,
  isAnswered,
  isAtWork,
  isLive,
  isSamePlace,
  isToBeCancelled,
  releaseAll,
  stopsAt,
  toRow,
  use,
} from "./rules.ts";
import type { Row, Run } from "./run.ts";
import { soonMs } from "./settings.ts";

/** What the finish says of the run; one that was deferred: only what was said by the position that its turn saw. */
export function lastSaying(says: readonly Saying[] = [], through: number): string | undefined {
  return says.findLast(({ saidAfter }) => saidAfter <= through)?.value;
}

/** Its handler has ended. It closes, or what it owes stands in its history now. */
export function close(run: Run, f: FinishRun): void {
  const { closing, ending, failedUndos } = f;
  if (run.ending !== undefined && failedUndos !== undefined) run.ending.failed = failedUndos;
  if (!closing && ending === undefined) return;
  beginClosing(run, f);
  if (ending === undefined) return;
  Object.assign(run, { isClosing: false, endsAs: undefined });
  run.ending = { position: run.history.length, undos: ending, failed: undefined };
  run.rows = [];
}

/** Closes a run: it begins nothing new, and keeps how it is to end. If its history is full, its handler is told as after a cancel. */
export function beginClosing(run: Run, { next, value = "", endsAs, cleansUp }: FinishRun): void {
  run.endsAs ??= endsAs ?? (next === "failed" || next === "cancelled" ? { next, value } : undefined);
  if (cleansUp) {
    run.cancel = { reason: "its history is full" };
    return;
  }
  run.timeoutAt = undefined;
  releaseAll(run, () => true);
  run.isClosing = true;
}

/** Records are appended; each ends what waited at its place, and takes what came for it. */
export function record(run: Run, { records = [], bytes = 0 }: FinishRun): void {
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

/** Tells whether the turn has ended before it carried out anything, or asked for anything new. */
export function hasGotNowhere(finish: FinishRun): boolean {
  const { setback, next, attempt, demands, children, continues, closing, ending, records = [] } = finish;
  const deeds = [attempt, demands, children, continues, closing, ending];
  return (
    (setback !== undefined || next === "ready" || next === "blocked") &&
    records.length === 0 &&
    deeds.every((deed) => deed === undefined)
  );
}

/** Tells whether the turn has carried out a step. */
export function carriesOut({ attempt, records = [] }: FinishRun): boolean {
  return attempt !== undefined || records.some(({ kind }) => kind === "step");
}

/** The steps that a turn has carried out leave attempts, where its records are dropped. */
export function keepDropped(run: Run, { attempt, records = [] }: FinishRun): void {
  for (const { kind, path, occurrence, attempts = 1 } of records)
    if (kind === "step") run.attempts.add(`${path}#${occurrence}/${attempts}`);
  if (attempt !== undefined) run.attempts.add(`${attempt.path}#${attempt.occurrence}/${attempt.number}`);
}

export function recordAttempt(run: Run, { attempt }: FinishRun, now: number): void {
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
export function release(run: Run, { released = [] }: FinishRun, through: number, now: number): Row[] {
  const prefixes = released.filter(({ position }) => position <= through).map(({ prefix }) => prefix);
  const isBelow = (path: string) => prefixes.some((prefix) => path.startsWith(prefix));
  const losers = run.rows.filter((row) => row.position === undefined && isBelow(row.path));
  for (const path of [...run.maps.keys()]) if (isBelow(path)) run.maps.delete(path);
  const maps = new Set(losers.flatMap(({ map }) => (map === undefined ? [] : [map])));
  for (const row of losers) Object.assign(row, { isReleased: true, isQueued: false, isCounted: false, map: undefined });
  dropRows(run, ({ isReleased, lease, path }) => isReleased && isBelow(path) && !isLive(lease, now));
  return [...maps].flatMap((map) => fillSlots(run, map, now));
}

export function recordDemands(run: Run, { demands = [] }: FinishRun, through: number, now: number): Row[] {
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
export function park(run: Run, now: number): void {
  const instants = run.rows.map((row) => (row.kind === "retry" ? row.readyAt : row.until));
  const isMet = isToBeCancelled(run, now) || run.rows.some((row) => isAnswered(run, row));
  run.readyAt = isMet ? now : earliest(...instants, stopsAt(run));
}

/** It waits for the next try, whatever it would wait for else; or it was tried often enough. */
export function holdUp(run: Run, until: number | undefined, now: number): void {
  run.isBlocked ||= until === undefined;
  run.readyAt = until === undefined || isToBeCancelled(run, now) ? now : earliest(until, stopsAt(run));
}

export function end(run: Run, { next, value = "" }: FinishRun, now: number): void {
  if (next !== "completed" && next !== "failed" && next !== "cancelled") return;
  run.status = next;
  run.endedAt = now;
  run.readyAt = undefined;
  run.isBlocked = false;
  run.endsAs = undefined;
  run.result = next === "completed" ? value : null;
  run.error = next === "completed" ? null : value;
  run.rows = [];
  run.maps.clear();
}
