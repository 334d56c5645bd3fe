/** Replays the history that a claim answered. A large history comes in pages, and the claim answers the first one. */
import type { Calls } from "../../postgres/calls.ts";
import type { ClaimedBranch, ClaimedRun, ClaimTurn } from "../../postgres/wire.ts";
import type { LoadedRun } from "./loaded-run.ts";

export interface Replay {
  readonly calls: Calls;
  readonly claimed: ClaimedRun | ClaimedBranch;
  /** The turn that was claimed. Its token gives access to the further pages. */
  readonly turn: ClaimTurn;
  /** The size of a page, roughly. */
  readonly budgetBytes: number;
  /** See `LoadedRun.replay`. */
  readonly patience: () => Promise<void>;
}

/** Tells whether the history has records that this process does not have yet. */
export function isToReplay({ have, position }: ClaimedRun | ClaimedBranch): boolean {
  return (have ?? 0) < position;
}

/**
 * Replays all pages, and stops where the code diverges. Answers false if the lease was lost meanwhile, so that not all
 * was read.
 */
export async function replayHistory(loaded: LoadedRun, replay: Replay): Promise<boolean> {
  const { calls, claimed, turn, budgetBytes, patience } = replay;
  const { epoch, position: through } = claimed;
  const { runId, token, path, occurrence } = turn;
  const place = path === undefined || occurrence === undefined ? {} : { path, occurrence };
  loaded.noteReplay(claimed);
  let records = claimed.records ?? [];
  let after = claimed.have ?? 0;
  for (;;) {
    await loaded.replay(records, patience);
    after += records.length;
    if (after >= through || loaded.execution.divergence !== undefined) return true;
    const page = await calls.readPage({ runId, token, ...place, epoch, after, through, budgetBytes });
    if (page.outcome === "superseded") return false;
    records = page.records ?? [];
    if (records.length === 0) throw new Error(`the records of run ${runId} after ${after} are not there`);
  }
}
