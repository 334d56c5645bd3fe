/** Carries out a turn of a branch: one step that is pending beside something else. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedBranch, FinishBranch, Place } from "../../postgres/wire.ts";
import type { Lease } from "../claim/lease.ts";
import { branchRefs } from "../finish/follow-ups.ts";
import type { Invocation, TurnAtWork } from "../invocation.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import { branchResult } from "./branch-result.ts";
import { foreignAwaitTooLong } from "./mistake-texts.ts";

export async function carryOutBranch(
  invocation: Invocation,
  branch: Place,
  atWork: TurnAtWork<ClaimedBranch>,
): Promise<void> {
  const { options, historyBudget, warm } = invocation.context;
  const { turn, claimed, lease } = atWork;
  const loaded = await loadedAt(invocation, atWork);
  if (loaded === undefined) return;
  historyBudget.enter(turn, loaded);
  const { execution } = loaded;
  lease.noteRun(loaded);
  invocation.beginTrace(lease, turn, claimed, loaded);
  const demand = execution.find(branch.path, branch.occurrence);
  const finish = { runId: turn.runId, turn: claimed.turn, token: turn.token, ...branch };
  if (demand?.wanted.kind !== "step") {
    if (execution.races.losers.has(placeName(branch))) return;
    if (execution.isSetback || execution.isAwaitingForeign) {
      const setback = execution.divergence ?? foreignAwaitTooLong(execution.lastPlace);
      await invocation.finish(lease, { ...finish, setback }, []);
      return;
    }
    const blocked =
      execution.divergence ?? `the run waits for the branch ${placeName(branch)}, which the code does not ask for`;
    return await refuse(invocation, lease, { ...finish, blocked });
  }
  if (!invocation.hasTimeFor(demand, claimed)) {
    lease.giveBack();
    return void (await options.calls.returnLeases([lease.turn]));
  }
  const number = claimed.attempts + 1;
  const result = await invocation.attempt(loaded, demand, number, claimed, lease, (value, beganAt) => {
    const { lastSaying } = loaded;
    const says = lastSaying !== undefined && { says: [{ value: lastSaying, saidAfter: execution.position }] };
    const endedAt = options.calls.clock.now();
    return { ...finish, ...branchResult({ kind: "succeeded", value, beganAt, endedAt }, number, undefined), ...says };
  });
  if (result.kind === "failed" && execution.divergence !== undefined) {
    warm.forget(turn.runId);
    return await refuse(invocation, lease, { ...finish, blocked: execution.divergence });
  }
  const retryInMs = result.kind === "failed" ? result.retryInMs : undefined;
  const { endedAt } = result;
  const says = loaded.takeSayings(execution.position);
  const answer =
    result.kind === "committed"
      ? result.answer
      : await invocation.finish(
          lease,
          {
            ...finish,
            ...branchResult(result, number, options.requestId?.()),
            ...(says.length > 0 && { says }),
            ...(demand.wanted.announces !== undefined && { announces: demand.wanted.announces }),
          },
          retryInMs === undefined ? [] : [endedAt + retryInMs],
        );
  if (answer.outcome !== "finished") return;
  const { continues, branches } = answer;
  await invocation.followUps.send([
    ...(continues == null ? [] : [{ runId: turn.runId, turn: continues }]),
    ...branchRefs(turn.runId, branches ?? []),
  ]);
  if (retryInMs !== undefined)
    await invocation.followUps.later({ runId: turn.runId, turn: answer.turn, branch }, endedAt + retryInMs);
}

/** Refuses a branch whose run does not fit this code. Where another deployment may have the code, that one is asked. */
async function refuse(invocation: Invocation, lease: Lease, finish: Omit<FinishBranch, "armed">): Promise<void> {
  const { runId, turn, path, occurrence } = finish;
  const answer = await invocation.finish(lease, { ...finish, ...invocation.refuser }, []);
  if (answer.outcome === "finished" && answer.isReady === true)
    await invocation.followUps.send([{ runId, turn, branch: { path, occurrence } }]);
}

/** Finds or makes a loaded run that stands where the branch was demanded. One replay serves all branches demanded there. */
async function loadedAt(invocation: Invocation, atWork: TurnAtWork<ClaimedBranch>): Promise<LoadedRun | undefined> {
  const { options, warm } = invocation.context;
  const { turn, claimed, held, lease } = atWork;
  const { epoch, position } = claimed;
  if (held !== undefined && claimed.have === position && held.epoch === epoch && held.execution.position === position)
    return held;
  const version = claimed.run?.version ?? held?.workflow.contract.version;
  const other = warm.findAt(turn.runId, epoch, position, version);
  if (other !== undefined) return other;
  if (claimed.run == null) {
    // The loaded run that the claim named has moved on since. The same token gets the whole answer.
    const { have: _, ...whole } = turn;
    const { turns } = await options.calls.claimTurns({ ...invocation.claims.terms, turns: [whole] });
    const again = turns[0];
    if (again?.outcome !== "claimed") return undefined;
    return await loadedAt(invocation, { turn: whole, claimed: again as ClaimedBranch, held: undefined, lease });
  }
  const loaded = await invocation.loadRun(turn, claimed, lease);
  if (loaded === undefined) return undefined;
  if (!(await invocation.replay(loaded, turn, claimed))) return void invocation.tellLoss(lease);
  if (loaded.execution.isAwaitingForeign) await loaded.execution.awaitForeign(invocation.patience());
  if (loaded.execution.divergence === undefined && !loaded.execution.isAwaitingForeign) warm.keep(loaded);
  return loaded;
}
