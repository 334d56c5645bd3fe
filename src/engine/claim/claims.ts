/** Makes the claims of an invocation: its terms, and what is asked of each turn. */
import type { TurnRef } from "../../core/ports.ts";
import type { ClaimCall, ClaimTurn } from "../../postgres/wire.ts";
import type { EngineContext } from "../engine-context.ts";
import { defaults } from "../options.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";

export class Claims {
  /** The parts of a claim that are the same for every turn of this invocation: deployment, versions, lease, limits. */
  readonly terms: Omit<ClaimCall, "turns">;
  readonly #newToken: () => string;

  constructor({ options, registry }: EngineContext) {
    const { calls, deployment, newToken = randomToken } = options;
    this.terms = {
      environment: options.environment ?? defaults.environment,
      endpoint: calls.endpoint,
      versions: registry.versions,
      ...(deployment !== undefined && { deployment: deployment.id }),
      leaseMs: options.leaseMs ?? defaults.leaseMs,
      maxClaims: defaults.maxClaims,
      maxBeginnings: defaults.maxBeginnings,
      budgetBytes: Math.min(
        options.claimBytes ?? defaults.claimBytes,
        calls.store?.memoryBytes ?? Number.POSITIVE_INFINITY,
      ),
      movesDue: true,
      knowsEpochs: true,
      knowsThrows: true,
    };
    this.#newToken = newToken;
  }

  /** Makes the claim of a turn. `held`: the loaded run at rest that goes on with it. */
  ofTurn(ref: TurnRef, held: LoadedRun | undefined): ClaimTurn {
    return {
      runId: ref.runId,
      turn: ref.turn,
      token: this.#newToken(),
      alone: ref.alone ?? false,
      ...(ref.groupSize !== undefined && { groupSize: ref.groupSize }),
      ...ref.branch,
      ...(held !== undefined && {
        have: haveOf(held, held.execution.position, held.rowsThrough),
      }),
    };
  }

  /** Makes the claim of the run's next turn, which the finish of this one carries. */
  ofNextTurn(
    loaded: LoadedRun,
    claim: ClaimTurn,
    plan: { readonly position: number; readonly records?: readonly unknown[] },
  ): ClaimTurn {
    const position = plan.position + (plan.records?.length ?? 0);
    return {
      ...this.ofTurn({ runId: claim.runId, turn: claim.turn + 1 }, undefined),
      have: haveOf(loaded, position, position),
    };
  }
}

function haveOf({ epoch, workflow }: LoadedRun, position: number, rowsThrough: number) {
  return { epoch, position, version: workflow.contract.version, rowsThrough };
}

function randomToken(): string {
  return crypto.randomUUID();
}
