/** Carries out a turn of a run, and the turns that follow it within the same invocation. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedRun } from "../../postgres/wire.ts";
import { branchRefs } from "../finish/follow-ups.ts";
import type { Invocation, TurnAtWork } from "../invocation.ts";
import { notePendingRows } from "../replay/note-pending-rows.ts";
import { isToReplay } from "../replay/replay-history.ts";
import { RunTurn } from "./run-turn.ts";

export async function carryOutRun(
  invocation: Invocation,
  { turn, claimed: first, held, lease }: TurnAtWork<ClaimedRun>,
): Promise<void> {
  const { options, historyBudget, warm } = invocation.context;
  const { calls } = options;
  const loaded = first.have === null ? await invocation.loadRun(turn, first, lease) : held;
  if (loaded === undefined) return;
  lease.noteRun(loaded);
  let claimed = first;
  let claim = turn;
  for (let steps = 1; ; steps += 1) {
    if (isToReplay(claimed) && !(await invocation.replay(loaded, claim, claimed))) return invocation.tellLoss(lease);
    if (claimed.pending != null && loaded.execution.isAwaitingForeign)
      await loaded.execution.awaitForeign(invocation.patience());
    notePendingRows(loaded, claimed);
    loaded.beginTurn(claimed);
    historyBudget.enter(turn, loaded); // not before: until it is replayed, it counts as its claim told
    const { wakeInstants, committed, ...plan } = await new RunTurn({
      loaded,
      claimed,
      patience: invocation.patience,
      now: () => calls.clock.now(),
      pace: calls.alarms.pace,
      attempt: (demand, number, planOf) =>
        invocation.attempt(loaded, demand, number, claimed, lease, (value, beganAt) => {
          const { wakeInstants: _, ...plan } = planOf(value, beganAt);
          return { ...plan, runId: claim.runId, token: claim.token };
        }),
      warn: (code, message) => loaded.warn(options, code, message),
    }).plan();
    if (committed !== undefined) {
      if (loaded.execution.divergence === undefined) {
        loaded.rest();
        warm.keep(loaded);
      }
      return invocation.followUps.next(claim.runId, committed);
    }
    const again =
      plan.next === "ready" && plan.continues === undefined && invocation.maySpend(steps)
        ? invocation.claims.ofNextTurn(loaded, claim, plan)
        : undefined;
    const more = plan.next === "blocked" ? invocation.refuser : again !== undefined && { claim: again };
    const finish = { ...plan, runId: claim.runId, token: claim.token, ...more };
    const answer = await invocation.finish(lease, finish, wakeInstants);
    if (answer.outcome !== "finished" && answer.outcome !== "deferred") return;
    await invocation.followUps.others(answer);
    if (
      answer.outcome === "finished" &&
      !loaded.execution.isOver &&
      loaded.execution.divergence === undefined &&
      plan.setback === undefined &&
      (plan.children === undefined || answer.hasStarted === true) // otherwise the next turn asks for them again
    ) {
      for (const demand of [...(plan.demands ?? []), ...(plan.children ?? [])])
        loaded.noteRow(placeName(demand), demand.until);
      if (again !== undefined && answer.claim?.outcome === "claimed") {
        claimed = answer.claim;
        claim = again;
        lease.goOn({ runId: again.runId, token: again.token });
        await invocation.followUps.send(branchRefs(claim.runId, answer.branches ?? []));
        continue;
      }
      // A finish that was too late for its record of the ending has kept the others. Memory has that record all the same.
      // The next epoch needs another handler.
      if (plan.ending === undefined && plan.continues === undefined) {
        loaded.rest();
        warm.keep(loaded);
      }
    }
    if (plan.next === "blocked" && answer.isReady !== true) return; // until a new deployment tries
    return invocation.followUps.next(claim.runId, answer);
  }
}
