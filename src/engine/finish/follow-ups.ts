/** Dispatches what follows from a turn: the next turn of its run, and branches that may be claimed. */
import type { TurnRef } from "../../core/ports.ts";
import type { BranchRef, FinishAnswer, OtherTurn } from "../../postgres/wire.ts";
import type { EngineOptions } from "../options.ts";

export class FollowUps {
  readonly #options: Pick<EngineOptions, "calls" | "dispatch">;
  readonly #onError: (error: unknown, doing: string) => void;

  constructor(options: Pick<EngineOptions, "calls" | "dispatch">, onError: (error: unknown, doing: string) => void) {
    this.#options = options;
    this.#onError = onError;
  }

  /** Dispatches what the finish of a run's turn has made ready. */
  async next(runId: string, answer: FinishAnswer & { outcome: "finished" | "deferred" }): Promise<void> {
    const next = { runId, turn: answer.turn };
    await this.send([...(answer.isReady ? [next] : []), ...branchRefs(runId, answer.branches ?? [])]);
    if (!answer.isReady && answer.readyAt != null) await this.later(next, answer.readyAt);
  }

  /** Dispatches the turns of other runs that a finish has made ready. */
  async others({ others }: { readonly others?: readonly OtherTurn[] | null }): Promise<void> {
    await this.send((others ?? []).map(({ runId, turn }) => ({ runId, turn })));
  }

  /** Dispatches a turn after a short wait. Only the alarm takes care of a long wait. */
  async later(ref: TurnRef, readyAt: number): Promise<void> {
    const { clock, alarms } = this.#options.calls;
    const delayMs = Math.max(0, readyAt - clock.now());
    if (delayMs <= alarms.pace.shortWaitMs) await this.send([ref], delayMs);
  }

  /** Dispatches turns. Never rejects: if a dispatch is lost, the run's alarm still stands. */
  async send(refs: readonly TurnRef[], delayMs = 0): Promise<void> {
    if (refs.length === 0) return;
    try {
      await this.#options.dispatch(refs, delayMs);
    } catch (error) {
      this.#onError(error, "dispatching");
    }
  }
}

export function branchRefs(runId: string, branches: readonly BranchRef[]): TurnRef[] {
  return branches.map(({ path, occurrence, turn }) => ({ runId, turn, branch: { path, occurrence } }));
}
