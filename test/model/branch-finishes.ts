/** What the finish of a branch means: its record or its next attempt, and whether the run goes on. */
import type { FinishBranch } from "../../src/postgres/wire.ts";
import { lastSaying } from "./finish-effects.ts";
import { settleAnnouncement, superseded } from "./overtaken.ts";
import { refuse } from "./refusals.ts";
import {
  earliest,
  fillSlots,
  findRow,
  findRun,
  isAboutToClose,
  isLive,
  isOver,
  isReady,
  isStill,
  setBackRow,
  spare,
  waitedFor,
} from "./rules.ts";
import { type Answer, type Entry, noLosses, type Place, type Row, type Run } from "./run.ts";
import { soonMs } from "./settings.ts";
import type { World } from "./world.ts";

export function finishBranch(world: World, namespace: string, f: FinishBranch): Answer {
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
