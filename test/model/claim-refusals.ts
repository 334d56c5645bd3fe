/** Why a claim is refused. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import type { ClaimTerms } from "./claim-terms.ts";
import { hasRefused } from "./refusals.ts";
import { groupSizeOf, isReady, isToBeCancelled } from "./rules.ts";
import type { Answer, Row, Run } from "./run.ts";
import { maxBeginnings, maxClaims } from "./settings.ts";
import type { World } from "./world.ts";

/** Answers all refusals that are true. It does not matter which of them the database gives. */
export function whyRunIsRefused(world: World, run: Run, terms: ClaimTerms, asked: ClaimTurn): Answer[] {
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
export function isWornOut(of: Run | Row): boolean {
  return groupSizeOf(of) === 1 && (of.beginnings > maxBeginnings || of.loneClaims > maxClaims);
}

export function whyBranchIsRefused(world: World, run: Run, row: Row, terms: ClaimTerms, asked: ClaimTurn): Answer[] {
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
