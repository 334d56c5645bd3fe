/** Carries out a turn of a run, and the turns that follow it within the same invocation. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedRun } from "../../postgres/wire.ts";
import { recognise } from "../replay/note-pending-rows.ts";
import { isToReplay } from "../replay/replay-history.ts";
import type { Shift, TurnAtWork } from "../shift.ts";
import { RunTurn } from "./run-turn.ts";

export async function carryOutRun(
  shift: Shift,
  { turn, claimed: first, held, lease }: TurnAtWork<ClaimedRun>,
): Promise<void> {
  const { options, room, warm } = shift.crew;
  const { calls } = options;
  const flight = first.have === null ? await shift.takeOff(turn, first, lease) : held;
  if (flight === undefined) return;
  room.enter(turn, flight);
  lease.contract = flight.workflow.contract;
  let claimed = first;
  let claim = turn;
  for (let steps = 1; ; steps += 1) {
    if (isToReplay(claimed) && !(await shift.replay(flight, claim, claimed))) return shift.tellLoss(lease);
    if (claimed.pending != null && flight.execution.isAdrift) await flight.execution.drift(shift.patience());
    recognise(flight, claimed);
    flight.handedPosition = claimed.handedPosition;
    flight.bytes = Math.max(flight.bytes, claimed.historyBytes);
    const { deadlines, ...plan } = await new RunTurn({
      flight,
      claimed,
      patience: shift.patience,
      now: () => calls.clock.now(),
      attempt: (demand, number) => shift.attempt(flight, demand, number, claimed, lease),
      warn: (code, message) => flight.warn(options, code, message),
    }).plan();
    const again = plan.next === "ready" && shift.maySpend(steps) ? shift.nextClaim(flight, claim, plan) : undefined;
    const more = plan.next === "blocked" ? shift.refuser : again !== undefined && { claim: again };
    const answer = await shift.finish(lease, { ...plan, runId: claim.runId, token: claim.token, ...more }, deadlines);
    if (answer.outcome !== "finished" && answer.outcome !== "deferred") return;
    if (
      answer.outcome === "finished" &&
      flight.execution.outcome === undefined &&
      flight.execution.divergence === undefined &&
      plan.setback === undefined
    ) {
      for (const demand of plan.demands ?? []) flight.rows.set(placeName(demand), demand.until);
      if (again !== undefined && answer.claim?.outcome === "claimed") {
        claimed = answer.claim;
        claim = again;
        lease.turn = { runId: again.runId, token: again.token };
        lease.isFinishSent = false;
        continue;
      }
      flight.handedPosition = flight.execution.position;
      flight.rowsThrough = flight.execution.position;
      warm.keep(flight);
    }
    if (plan.next === "blocked" && answer.isReady !== true) return; // until a new deployment tries
    return shift.onward.next(claim.runId, answer);
  }
}
