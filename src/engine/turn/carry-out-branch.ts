/** Carries out a turn of a branch: one step that is pending beside something else. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedBranch, FinishBranch, Place } from "../../postgres/wire.ts";
import type { Lease } from "../claim/leases.ts";
import { branchRefs } from "../finish/onward.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import type { Shift, TurnAtWork } from "../shift.ts";
import { branchResult } from "./branch-result.ts";
import { heldUp } from "./mistake-texts.ts";

export async function carryOutBranch(shift: Shift, branch: Place, atWork: TurnAtWork<ClaimedBranch>): Promise<void> {
  const { options, historyBudget, warm } = shift.context;
  const { turn, claimed, lease } = atWork;
  const loaded = await loadedAt(shift, atWork);
  if (loaded === undefined) return;
  historyBudget.enter(turn, loaded);
  const { execution } = loaded;
  lease.noteContract(loaded.workflow.contract);
  const demand = execution.find(branch.path, branch.occurrence);
  const finish = { runId: turn.runId, turn: claimed.turn, token: turn.token, ...branch };
  if (demand?.wanted.kind !== "step") {
    if (execution.losers.includes(placeName(branch))) return;
    if (execution.isHeldUp || execution.isAwaitingForeign) {
      const setback = execution.divergence ?? heldUp(execution.lastPlace);
      await shift.finish(lease, { ...finish, setback }, []);
      return;
    }
    const blocked =
      execution.divergence ?? `the run waits for the branch ${placeName(branch)}, which the code does not ask for`;
    return await refuse(shift, lease, { ...finish, blocked });
  }
  const number = claimed.attempts + 1;
  const result = await shift.attempt(loaded, demand, number, claimed, lease);
  if (result.kind === "failed" && execution.divergence !== undefined) {
    warm.forget(turn.runId);
    return await refuse(shift, lease, { ...finish, blocked: execution.divergence });
  }
  const retryInMs = result.kind === "failed" ? result.retryInMs : undefined;
  const { endedAt } = result;
  const answer = await shift.finish(
    lease,
    {
      ...finish,
      ...branchResult(result, number, options.requestId?.()),
      ...(demand.wanted.announces !== undefined && { announces: demand.wanted.announces }),
    },
    retryInMs === undefined ? [] : [endedAt + retryInMs],
  );
  if (answer.outcome !== "finished") return;
  const { continues, branches } = answer;
  await shift.onward.send([
    ...(continues == null ? [] : [{ runId: turn.runId, turn: continues }]),
    ...branchRefs(turn.runId, branches ?? []),
  ]);
  if (retryInMs !== undefined)
    await shift.onward.later({ runId: turn.runId, turn: answer.turn, branch }, endedAt + retryInMs);
}

/** Refuses a branch whose run does not fit this code. Where another deployment may have the code, that one is asked. */
async function refuse(shift: Shift, lease: Lease, finish: Omit<FinishBranch, "armed">): Promise<void> {
  const { runId, turn, path, occurrence } = finish;
  const answer = await shift.finish(lease, { ...finish, ...shift.refuser }, []);
  if (answer.outcome === "finished" && answer.isReady === true)
    await shift.onward.send([{ runId, turn, branch: { path, occurrence } }]);
}

/** Finds or makes a loaded run that stands where the branch was demanded. One replay serves all branches demanded there. */
async function loadedAt(shift: Shift, atWork: TurnAtWork<ClaimedBranch>): Promise<LoadedRun | undefined> {
  const { options, warm } = shift.context;
  const { turn, claimed, held, lease } = atWork;
  const { epoch, position } = claimed;
  if (held !== undefined && claimed.have === position && held.epoch === epoch && held.execution.position === position)
    return held;
  const other = warm.findAt(turn.runId, epoch, position);
  if (other !== undefined) return other;
  if (claimed.run == null) {
    // The loaded run that the claim named has moved on since. The same token gets the whole answer.
    const { have: _, ...whole } = turn;
    const { turns } = await options.calls.claimTurns({ ...shift.terms, turns: [whole] });
    const again = turns[0];
    if (again?.outcome !== "claimed") return undefined;
    return await loadedAt(shift, { turn: whole, claimed: again as ClaimedBranch, held: undefined, lease });
  }
  const loaded = await shift.loadRun(turn, claimed, lease);
  if (loaded === undefined) return undefined;
  if (!(await shift.replay(loaded, turn, claimed))) return void shift.tellLoss(lease);
  if (loaded.execution.isAwaitingForeign) await loaded.execution.awaitForeign(shift.patience());
  if (loaded.execution.divergence === undefined && !loaded.execution.isAwaitingForeign) warm.keep(loaded);
  return loaded;
}
