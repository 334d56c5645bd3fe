/** What a claim means: a lease for one turn, or a refusal that tells the truth. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import { describeBranch, describeRun } from "./claim-answers.ts";
import { isWornOut, whyBranchIsRefused, whyRunIsRefused } from "./claim-refusals.ts";
import type { ClaimTerms } from "./claim-terms.ts";
import { anyOf } from "./match.ts";
import {
  arm,
  dropRows,
  earliest,
  excuse,
  findRow,
  findRun,
  groupSizeOf,
  isAtWork,
  isLive,
  isOver,
  isReady,
  isToBeCancelled,
  lose,
  releaseAll,
  setBack,
  setBackRow,
  stopsAt,
} from "./rules.ts";
import { noLosses, type Place, type Row, type Run } from "./run.ts";
import { leaseMs, longestBackoffMs, maxBeginnings, minute } from "./settings.ts";
import type { World } from "./world.ts";

export function claim(world: World, terms: ClaimTerms, asked: ClaimTurn): unknown {
  const { environments } = world;
  const ours = environments.get(terms.namespace) ?? terms.environment;
  environments.set(terms.namespace, ours);
  if (ours !== terms.environment) return { outcome: "wrong_environment" };
  const { path, occurrence } = asked;
  if (path === undefined || occurrence === undefined) return claimRun(world, terms, asked);
  return claimBranch(world, terms, asked, { path, occurrence });
}

function claimRun(world: World, terms: ClaimTerms, asked: ClaimTurn): unknown {
  const { now } = world;
  const run = findRun(world, asked.runId, terms.namespace);
  if (run === undefined) return { outcome: "unknown" };
  if (isOver(run)) return { outcome: "over", status: run.status };
  if (run.lease?.token === asked.token) return describeRun(world, run, asked, terms);

  const refusals = whyRunIsRefused(world, run, terms, asked);
  if (refusals.length > 0) return anyOf(...refusals);
  if (isWornOut(run)) {
    const until = setBack(run, run, now);
    const readyAt = earliest(until, stopsAt(run));
    if (run.lease !== undefined) lose(run, run.lease);
    Object.assign(run, { status: "parked", turn: run.turn + 1, lease: undefined, loneClaims: 0 });
    run.beginnings = until === undefined ? 0 : Math.min(run.beginnings, maxBeginnings - 1);
    run.isBlocked = until === undefined;
    if (until === undefined) {
      run.losses = noLosses;
      return { outcome: "blocked" };
    }
    run.readyAt = isToBeCancelled(run, now) ? now : readyAt;
    arm(world, [now]); // by nobody: if what stands is too late, the next tick that happens finds it
    return { outcome: "not_ready", readyAt: null };
  }
  if (isToBeCancelled(run, now)) recordCancellation(run, now);
  if (run.isBlocked) arm(world, [now]); // by nobody: it is found by the next tick that happens
  run.isBlocked = false;
  run.status = "running";
  if (groupSizeOf(run) === 1) run.loneClaims += 1;
  if (run.lease !== undefined) run.isInterrupted = true;
  if (run.lease !== undefined) lose(run, run.lease);
  run.lease = { token: asked.token, until: now + leaseMs };
  if (run.dispatches > 1) excuse(world, now + longestBackoffMs);
  run.dispatches = 0;
  return describeRun(world, run, asked, terms);
}

function recordCancellation(run: Run, now: number): void {
  run.lastRecordAt = Math.max(now, run.lastRecordAt);
  const isLate = run.cancelledPosition !== undefined;
  if (run.cancel === undefined) {
    run.cancel = { reason: "timeout" };
    run.endsAs = { next: "failed", value: timedOut(run) };
  }
  const value = run.cancel.reason ?? null;
  const attempts = run.isInterrupted || run.lease !== undefined ? 2 : 1;
  run.history.push({
    ...{ kind: "closing", value, path: "", occurrence: 1 },
    ...{ isFailure: true, at: run.lastRecordAt, attempts },
  });
  run.cancelledPosition ??= run.history.length;
  run.timeoutAt = isLate ? undefined : now + 60 * minute;
  releaseAll(run, ({ isShielded }) => isLate || !isShielded);
  dropRows(run, ({ isReleased, lease }) => isReleased && !isLive(lease, now));
}

/** The text of the error, as Postgres writes it. */
function timedOut({ workflow }: Run): string {
  const hint = "Raise the contract's timeout, or find what the run waited for in its history.";
  const message = `the run of \\"${workflow}\\" was not over at its timeout`;
  return `0{"code": "run_timeout", "hint": "${hint}", "name": "LayoverError", "message": "${message}"}`;
}

function claimBranch(world: World, terms: ClaimTerms, asked: ClaimTurn, place: Place): unknown {
  const { now } = world;
  const run = world.runs.find(({ id }) => id === asked.runId);
  const row = run === undefined ? undefined : findRow(run, place);
  const isHere = run?.namespace === terms.namespace;
  if (run === undefined || row?.kind !== "branch" || row.position !== undefined) {
    return anyOf({ outcome: "superseded" }, ...(isHere ? [] : [{ outcome: "unknown" }]));
  }
  if (!isHere) return { outcome: "unknown" };
  if (row.lease?.token === asked.token) return describeBranch(world, run, row, asked, terms);

  const refusals = whyBranchIsRefused(world, run, row, terms, asked);
  if (refusals.length > 0) return anyOf(...refusals);
  if (isWornOut(row)) {
    if (row.lease !== undefined) lose(row, row.lease);
    row.beginnings = Math.min(row.beginnings, maxBeginnings - 1);
    if (!setBackRow(run, row, now)) return { outcome: "blocked" };
    arm(world, [now]); // by nobody, as above
    return { outcome: "not_ready", readyAt: null };
  }
  if (groupSizeOf(row) === 1) row.loneClaims += 1;
  if (row.lease !== undefined) lose(row, row.lease);
  row.lease = { token: asked.token, until: now + leaseMs };
  row.hasBegun = true;
  if (row.dispatches > 1) excuse(world, now + longestBackoffMs);
  row.dispatches = 0;
  return describeBranch(world, run, row, asked, terms);
}

/** Answers the runs and rows that a claim would get now. */
export function claimable(world: World): { run: Run; row: Row | undefined }[] {
  const { now } = world;
  return world.runs.flatMap((run) => {
    if (isOver(run) || run.pausedAt !== undefined) return [];
    const isFree =
      !isLive(run.lease, now) &&
      (isReady(run, now) || run.isBlocked || run.lease !== undefined || isToBeCancelled(run, now));
    const self = isFree ? [{ run, row: undefined }] : [];
    const rows = run.rows.filter(
      (row) =>
        isAtWork(row) && !isLive(row.lease, now) && (row.lease !== undefined || (row.readyAt ?? Infinity) <= now),
    );
    return [...self, ...rows.map((row) => ({ run, row }))];
  });
}
