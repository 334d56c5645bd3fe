/** What a claim means: a lease for one turn, or a refusal that tells the truth. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import { firstPage, heldPrefix, listOrNull } from "./budgets.ts";
import { anyOf, inAnyOrder } from "./match.ts";
import { hasRefused } from "./refusals.ts";
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
import { isOfVersion } from "./upgrades.ts";
import {
  type Answer,
  leaseMs,
  longestBackoffMs,
  maxBeginnings,
  maxClaims,
  minute,
  noLosses,
  type Place,
  type Row,
  type Run,
  signalsOffered,
  type World,
} from "./world.ts";

export interface ClaimTerms {
  readonly namespace: string;
  /** Name and address of the deployment. */
  readonly environment: string;
  /** Whether the deployment has the code of the run's version. */
  readonly carries: (run: Run) => boolean;
  /** Id of the deployment. */
  readonly by?: string | undefined;
  /** How many turns are claimed, or finished, by the call. */
  readonly turns: number;
  /** Most bytes of the answer. Undefined: no limit. */
  readonly budgetBytes?: number | undefined;
}

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
    const until = setBack(run, now);
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

/** Answers all refusals that are true. It does not matter which of them the database gives. */
function whyRunIsRefused(world: World, run: Run, terms: ClaimTerms, asked: ClaimTurn): Answer[] {
  const { now } = world;
  const { turn } = asked;
  const refusals: Answer[] = [];
  const isCancelling = isToBeCancelled(run, now);
  if (run.turn !== turn) refusals.push({ outcome: "stale", turn: run.turn });
  if (run.lease !== undefined && run.lease.until > now) refusals.push({ outcome: "busy", until: run.lease.until });
  if (run.pausedAt !== undefined) refusals.push({ outcome: "paused" });
  if (!terms.carries(run) || hasRefused(world, run, terms.by)) refusals.push({ outcome: "not_here" });
  refusals.push(...whyGroupIsRefused(run, terms, asked));
  const isLate = run.isClosing || run.cancelledPosition !== undefined;
  const atWork = run.rows.flatMap(({ lease, isShielded }) =>
    lease !== undefined && lease.until > now && (isLate || !isShielded) ? [lease.until] : [],
  );
  const isCrashing = run.status === "running" && isWornOut(run);
  if ((isCancelling || run.isClosing) && !isCrashing && atWork.length > 0)
    refusals.push({ outcome: "not_ready", readyAt: Math.max(...atWork) });
  if (run.status === "parked" && !isCancelling && !run.isBlocked && !isReady(run, now)) {
    refusals.push({ outcome: "not_ready", readyAt: run.readyAt ?? null });
  }
  return refusals;
}

/**
 * Refuses a turn that may have ended its processes, where it comes in too large a call. A claim that names no size may
 * be of any.
 */
function whyGroupIsRefused(of: Run | Row, { turns }: ClaimTerms, { alone, groupSize }: ClaimTurn): Answer[] {
  const most = groupSizeOf(of);
  const size = Math.max(turns, groupSize ?? (alone ? 1 : Number.POSITIVE_INFINITY));
  return most !== null && size > most ? [{ outcome: "alone", groupSize: most }] : [];
}

/**
 * Tells whether the turn was claimed alone, or begun, too often. One that may go beside others again is not worn out:
 * its holders proved to be alive.
 */
function isWornOut(of: Run | Row): boolean {
  return groupSizeOf(of) === 1 && (of.beginnings > maxBeginnings || of.loneClaims > maxClaims);
}

function recordCancellation(run: Run, now: number): void {
  run.lastRecordAt = Math.max(now, run.lastRecordAt);
  const isLate = run.cancelledPosition !== undefined;
  const said =
    run.cancel === undefined
      ? { kind: "cancellation" as const, value: "timeout" }
      : { kind: "closing" as const, value: run.cancel.reason ?? null };
  const attempts = run.isInterrupted || run.lease !== undefined ? 2 : 1;
  run.history.push({ ...said, path: "", occurrence: 1, isFailure: true, at: run.lastRecordAt, attempts });
  run.cancelledPosition ??= run.history.length;
  if (isLate) run.timeoutAt = undefined;
  else if (run.cancel !== undefined) run.timeoutAt = now + 60 * minute;
  releaseAll(run, ({ isShielded }) => isLate || !isShielded);
  dropRows(run, ({ isReleased, lease }) => isReleased && !isLive(lease, now));
}

/** Answers what the claimer is told, and notes the claimer in the world. */
function describeRun(world: World, run: Run, { token, have }: ClaimTurn, { budgetBytes }: ClaimTerms): Answer {
  const { now } = world;
  dropRows(run, ({ isReleased, lease }) => isReleased && !isLive(lease, now));
  const holder = {
    of: "run" as const,
    runId: run.id,
    namespace: run.namespace,
    token,
    turn: run.turn,
    seen: run.history.length,
    claimedAt: now,
    lastRecordAt: run.lastRecordAt,
    timeoutAt: run.timeoutAt,
    awaited: run.rows.filter((row) => row.position === undefined && !row.isReleased).map((row) => ({ ...row })),
    hasLosers: run.rows.some((row) => row.isReleased),
    signals: offered(run),
    answers: run.answers.filter(({ takenAt }) => takenAt === undefined).map((answer) => ({ ...answer })),
  };
  world.holders = [...world.holders.filter((other) => other.token !== token), holder];
  const known = isOfVersion(run, have) ? heldPrefix(have, run.history.length) : null;
  const rowsThrough = known === null ? -1 : (have?.rowsThrough ?? Number.POSITIVE_INFINITY);
  const mayHaveChanged = ({ kind, isReleased, attempts }: Row) =>
    kind === "retry" || isReleased || (kind === "branch" && attempts > 0);
  const pending = run.rows.filter((row) => mayHaveChanged(row) || row.demandedAfter > rowsThrough);
  return {
    outcome: "claimed",
    now,
    epoch: 0,
    turn: run.turn,
    have: known,
    position: run.history.length,
    handedPosition: run.handed,
    lastRecordAt: run.lastRecordAt,
    timeoutAt: run.timeoutAt ?? null,
    claims: run.loneClaims,
    beginnings: run.beginnings,
    begun: run.begun ?? null,
    historyBytes: run.historyBytes,
    records: firstPage(run, known ?? 0, run.history.length, budgetBytes),
    pending: pending.length === 0 ? null : inAnyOrder(pending.map(wirePending)),
    signals: listOrNull(
      holder.signals.map(({ number, name, payload, receivedAt }) => ({ number, name, payload, receivedAt })),
    ),
    callbacks:
      holder.answers.length === 0
        ? null
        : inAnyOrder(
            holder.answers.map(({ path, occurrence, outcome, value }) => ({ path, occurrence, outcome, value })),
          ),
    attempted: run.isClosing ? inAnyOrder(attemptedOf(run)) : null,
    run: known === null ? { workflow: run.workflow, version: run.version, input: run.input } : null,
  };
}

/** The steps without a record that may have had their effect, and how many attempts each had. */
function attemptedOf({ attempts, history }: Run): (Place & { attempts: number })[] {
  const had = new Map<string, number>();
  for (const attempt of attempts) {
    const cut = attempt.lastIndexOf("/");
    const name = attempt.slice(0, cut);
    had.set(name, Math.max(had.get(name) ?? 0, Number(attempt.slice(cut + 1))));
  }
  const recorded = history.filter(({ kind }) => kind === "step").map(({ path, occurrence }) => `${path}#${occurrence}`);
  return [...had]
    .filter(([name]) => !recorded.includes(name))
    .map(([name, attempts]) => {
      const cut = name.lastIndexOf("#");
      return { path: name.slice(0, cut), occurrence: Number(name.slice(cut + 1)), attempts };
    });
}

function offered(run: Run): Signal[] {
  const counts = new Map<string, number>();
  return run.signals.flatMap((signal) => {
    if (signal.takenAt !== undefined) return [];
    const count = (counts.get(signal.name) ?? 0) + 1;
    counts.set(signal.name, count);
    return count > signalsOffered ? [] : [{ ...signal }];
  });
}
type Signal = Run["signals"][number];

function wirePending({ kind, path, occurrence, demandedAfter, until, attempts, position, isReleased }: Row): Answer {
  return {
    kind,
    path,
    occurrence,
    demandedAfter,
    until: until ?? null,
    attempts,
    position: position ?? null,
    isReleased,
  };
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

function whyBranchIsRefused(world: World, run: Run, row: Row, terms: ClaimTerms, asked: ClaimTurn): Answer[] {
  const { now } = world;
  const { turn } = asked;
  const refusals: Answer[] = [];
  if (row.turn !== turn) refusals.push({ outcome: "stale", turn: row.turn });
  if (row.lease !== undefined && row.lease.until > now) refusals.push({ outcome: "busy", until: row.lease.until });
  if (run.pausedAt !== undefined) refusals.push({ outcome: "paused" });
  if (run.isBlocked) refusals.push({ outcome: "blocked" });
  const isCutOff = isToBeCancelled(run, now) && (!row.isShielded || run.cancelledPosition !== undefined);
  if (row.isReleased || isCutOff) refusals.push({ outcome: "superseded" });
  if (!terms.carries(run) || hasRefused(world, run, terms.by)) refusals.push({ outcome: "not_here" });
  if (row.isQueued) refusals.push({ outcome: "not_ready", readyAt: null });
  refusals.push(...whyGroupIsRefused(row, terms, asked));
  if (row.lease === undefined && row.readyAt !== undefined && row.readyAt > now) {
    refusals.push({ outcome: "not_ready", readyAt: row.readyAt });
  }
  return refusals;
}

function describeBranch(
  world: World,
  run: Run,
  row: Row,
  { token, have }: ClaimTurn,
  { budgetBytes }: ClaimTerms,
): Answer {
  const { path, occurrence, turn, attempts, demandedAfter } = row;
  const { id: runId, namespace } = run;
  const holder = { of: "branch" as const, runId, namespace, token, path, occurrence, turn, attempts };
  world.holders = [...world.holders.filter((other) => other.token !== token), holder];
  const known = isOfVersion(run, have) ? heldPrefix(have, demandedAfter) : null;
  return {
    outcome: "claimed",
    now: world.now,
    epoch: 0,
    turn,
    have: known,
    position: demandedAfter,
    handedPosition: run.handed,
    timeoutAt: run.timeoutAt ?? null,
    claims: row.loneClaims,
    beginnings: row.beginnings,
    begun: row.begun ?? null,
    attempts,
    records: firstPage(run, known ?? 0, demandedAfter, budgetBytes),
    run: known === null ? { workflow: run.workflow, version: run.version, input: run.input } : null,
  };
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
