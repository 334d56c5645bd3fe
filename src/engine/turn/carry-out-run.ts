/** Carries out a turn of a run, and the turns that follow it within the same invocation. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedRun, ClaimTurn, FinishAnswer } from "../../postgres/wire.ts";
import type { Lease } from "../claim/lease.ts";
import { branchRefs } from "../finish/follow-ups.ts";
import type { Invocation, TurnAtWork } from "../invocation.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import { notePendingRows } from "../replay/note-pending-rows.ts";
import { isToReplay } from "../replay/replay-history.ts";
import type { Plan } from "./plan.ts";
import { RunTurn } from "./run-turn.ts";
import { unreadableMail } from "./unreadable-mail.ts";

/** A turn to carry out now. */
interface Turn {
  readonly claim: ClaimTurn;
  readonly claimed: ClaimedRun;
  readonly loaded: LoadedRun;
}

type Finished = FinishAnswer & { readonly outcome: "finished" | "deferred" };

export async function carryOutRun(
  invocation: Invocation,
  { turn, claimed, held, lease }: TurnAtWork<ClaimedRun>,
): Promise<void> {
  const { historyBudget } = invocation.context;
  const loaded = claimed.have === null ? await invocation.loadRun(turn, claimed, lease) : held;
  if (loaded === undefined) return;
  lease.noteRun(loaded);
  invocation.beginTrace(lease, turn, claimed, loaded);
  let next: Turn | undefined = { claim: turn, claimed, loaded };
  for (let steps = 1; next !== undefined; steps += 1) {
    const unreadable = unreadableMail(next.claimed);
    if (unreadable !== undefined)
      return await invocation.refuseMail(lease, next.claim, next.claimed.position, unreadable);
    if (!(await catchUp(invocation, lease, next))) return invocation.tellLoss(lease);
    historyBudget.enter(turn, next.loaded); // not before: until it is replayed, it counts as its claim told
    next = await carryOutOne(invocation, lease, next, steps);
  }
}

/** Brings the handler to where its history ends. Answers false if the lease was lost meanwhile. */
async function catchUp(invocation: Invocation, lease: Lease, { claim, claimed, loaded }: Turn): Promise<boolean> {
  if (isToReplay(claimed) && !(await invocation.replay(loaded, claim, claimed))) return false;
  if (claimed.pending != null && loaded.execution.isAwaitingForeign)
    await loaded.execution.awaitForeign(invocation.patience());
  notePendingRows(loaded, claimed);
  loaded.beginTurn(claimed);
  loaded.trace = lease.trace?.trace;
  return true;
}

/** Carries out one turn. Answers the next one, if its finish has claimed it. */
async function carryOutOne(
  invocation: Invocation,
  lease: Lease,
  { claim, claimed, loaded }: Turn,
  steps: number,
): Promise<Turn | undefined> {
  const { warm } = invocation.context;
  const { runId } = claim;
  const planned = await planOf(invocation, lease, { claim, claimed, loaded });
  const { wakeInstants, committed, isLeft, ...plan } = planned;
  if (committed !== undefined) {
    if (loaded.execution.divergence === undefined) {
      loaded.rest();
      warm.keep(loaded);
    }
    return void (await invocation.followUps.next(runId, committed));
  }
  const again =
    plan.next === "ready" && plan.continues === undefined && !isLeft && invocation.maySpend(steps)
      ? invocation.claims.ofNextTurn(loaded, claim, plan)
      : undefined;
  const more = plan.next === "blocked" ? invocation.refuser : again !== undefined && { claim: again };
  const finish = { ...plan, runId, token: claim.token, ...more };
  const askedAt = invocation.context.host.monotonic();
  const answer = await invocation.finish(lease, finish, wakeInstants);
  if (answer.outcome !== "finished" && answer.outcome !== "deferred") return undefined;
  await invocation.followUps.others(answer);
  const isAsStored = hasMemoryOf(plan, answer, loaded);
  if (isAsStored) {
    for (const demand of [...(plan.demands ?? []), ...(plan.children ?? [])])
      loaded.noteRow(placeName(demand), demand.until);
  }
  if (again !== undefined && answer.claim?.outcome === "claimed") {
    lease.goOn({ runId, token: again.token }, again.turn);
    await invocation.followUps.send(branchRefs(runId, answer.branches ?? []));
    if (!(await invocation.leases.stands(lease, askedAt))) return undefined;
    if (!isAsStored) return await loadAnew(invocation, lease, again);
    invocation.beginTrace(lease, again, answer.claim, loaded);
    return { claim: again, claimed: answer.claim, loaded };
  }
  // A finish that was too late for its record of the ending has kept the others. Memory has that record all the same.
  // The next epoch needs another handler.
  if (isAsStored && plan.ending === undefined && plan.continues === undefined) {
    loaded.rest();
    warm.keep(loaded);
  }
  // It waits for its alarm, or until a new deployment tries.
  if (isLeft || (plan.next === "blocked" && answer.isReady !== true)) return undefined;
  return void (await invocation.followUps.next(runId, answer));
}

function planOf(invocation: Invocation, lease: Lease, { claim, claimed, loaded }: Turn): Promise<Plan> {
  const { options } = invocation.context;
  const { calls } = options;
  return new RunTurn({
    loaded,
    claimed,
    patience: invocation.patience,
    now: () => calls.clock.now(),
    hasTimeFor: (step) => invocation.hasTimeFor(step, claimed),
    pace: calls.alarms.pace,
    readEnds: async (runIds) => {
      const answer = await calls.readEnds({ runId: claim.runId, token: claim.token, runIds });
      return answer.outcome === "read" ? answer : { ends: [], isMore: false }; // superseded: so is the finish
    },
    trace: lease.trace,
    attempt: (demand, number, planOf) =>
      invocation.attempt(loaded, demand, number, claimed, lease, (value, beganAt) => {
        const { wakeInstants: _, ...plan } = planOf(value, beganAt);
        return { ...plan, runId: claim.runId, token: claim.token };
      }),
    warn: (code, message) => loaded.warn(options, code, message),
  }).plan();
}

/**
 * Whether the handler in memory may go on from what its finish has stored. One that has ended goes on only where its run
 * closes first, to learn what it has begun. Runs that were not started are asked for again, by the next turn.
 */
function hasMemoryOf(plan: Omit<Plan, "wakeInstants">, answer: Finished, { execution }: LoadedRun): boolean {
  return (
    answer.outcome === "finished" &&
    (!execution.isOver || plan.closing === true) &&
    execution.divergence === undefined &&
    plan.setback === undefined &&
    (plan.children === undefined || answer.hasStarted === true)
  );
}

/**
 * Replays the run for a turn that its finish has claimed, where the handler in memory cannot go on. If nobody carried the
 * turn out, its lease would have to end, and the scheduler to look, before somebody else could. The same token gets the
 * whole answer.
 */
async function loadAnew(
  invocation: Invocation,
  lease: Lease,
  { have: _, ...claim }: ClaimTurn,
): Promise<Turn | undefined> {
  const { turns } = await invocation.context.options.calls.claimTurns({ ...invocation.claims.terms, turns: [claim] });
  const [claimed] = turns;
  if (claimed?.outcome !== "claimed") return undefined;
  const loaded = await invocation.loadRun(claim, claimed, lease);
  if (loaded === undefined) return undefined;
  lease.noteRun(loaded);
  return { claim, claimed: claimed as ClaimedRun, loaded };
}
