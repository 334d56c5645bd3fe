/**
 * Claims a set of turns in one call, and has them carried out side by side (`turn/`). What these turns share is an
 * `Invocation` (invocation.ts).
 *
 * Whatever fails here fails for these turns only: the lease runs out and the turn is claimed again. So every error is
 * reported, and none is passed on.
 */
import { groupsOf, inGroupOf } from "../core/groups.ts";
import type { TurnRef } from "../core/ports.ts";
import { lookAheadMs } from "../core/waking.ts";
import type { ClaimAnswer, ClaimedBranch, ClaimedRun, ClaimTurn, ReturnTurn } from "../postgres/wire.ts";
import type { Move } from "../postgres/wire-scheduler.ts";
import { claimInParts } from "./claim/claim-in-parts.ts";
import type { EngineContext } from "./engine-context.ts";
import { type Claimed, Invocation, type TurnAtWork } from "./invocation.ts";
import { makeDueAgain } from "./scheduler/due-again.ts";
import { carryOutBranch } from "./turn/carry-out-branch.ts";
import { carryOutRun } from "./turn/carry-out-run.ts";
import { wrongEnvironment } from "./wrong-environment.ts";

/** The listeners of one invocation. */
export interface Listeners {
  /** Is told of each turn that has ended. */
  readonly onEnd?: () => void;
  /** Is told why the call that was to claim the turns has failed. */
  readonly onClaimFailed?: (error: unknown) => void;
}

/** Claims turns and carries them out. Answers whether it could claim: whether the database answered, and knows this environment. */
export async function carryOut(
  context: EngineContext,
  refs: readonly TurnRef[],
  listeners: Listeners = {},
): Promise<boolean> {
  while (!context.gate.isOpen || context.historyBudget.isFull) {
    await context.gate.untilOpen();
    await context.historyBudget.untilFree();
    if (context.isClosing) return false;
  }
  const claimable = withoutLate(context, refs);
  for (let left = refs.length - claimable.length; left > 0; left -= 1) listeners.onEnd?.();
  if (claimable.length === 0) return true;
  const turns = new ClaimedTurns(context, claimable.length);
  context.historyBudget.reserve(turns);
  try {
    return await turns.carryOut(claimable, listeners);
  } finally {
    context.historyBudget.free(turns);
  }
}

/**
 * Leaves out the turns that are at work here under late leases. Once the row is no longer locked, whoever comes first has
 * the turn: its holder, or a claim that takes the lease for lost.
 */
function withoutLate({ leases }: EngineContext, refs: readonly TurnRef[]): readonly TurnRef[] {
  const late = [...leases].filter(({ isLate }) => isLate);
  if (late.length === 0) return refs;
  return refs.filter((ref) => !late.some((lease) => lease.isOf(ref)));
}

class ClaimedTurns {
  readonly #context: EngineContext;
  readonly #invocation: Invocation;

  constructor(context: EngineContext, turns: number) {
    this.#context = context;
    this.#invocation = new Invocation(context, turns);
  }

  async carryOut(refs: readonly TurnRef[], { onEnd, onClaimFailed }: Listeners): Promise<boolean> {
    const { options, historyBudget, warm } = this.#context;
    const { followUps, claims } = this.#invocation;
    const { terms } = claims;
    const asked = refs.map((ref) => {
      const held =
        ref.branch === undefined
          ? warm.take(ref.runId)
          : warm.findFor(ref.runId, ref.branch.path, ref.branch.occurrence);
      return { ref, held, turn: claims.ofTurn(ref, held) };
    });
    const askedAt = this.#context.host.monotonic();
    let answer: ClaimAnswer;
    try {
      const turns = asked.map(({ turn }) => turn);
      answer = await this.#context.returns.bring(
        () => claimInParts(options.calls, terms, turns, this.#report),
        (claimed) => leasesIn(claimed, turns),
        withoutLeases,
      );
    } catch (error) {
      this.#report(error, "claiming turns");
      onClaimFailed?.(error);
      return false;
    }
    for (const [index, { turn }] of asked.entries()) {
      const claimed = answer.turns[index];
      if (claimed?.outcome === "claimed" && "historyBytes" in claimed)
        historyBudget.enter(turn, { bytes: claimed.historyBytes });
    }
    historyBudget.free(this);
    // Turns that did not fit into this answer. They are dispatched anew.
    const postponed = asked.filter((_, index) => answer.turns[index]?.outcome === "later");
    for (const { ref, held } of postponed) if (ref.branch === undefined && held !== undefined) warm.keep(held);
    await followUps.send(postponed.map(({ ref }) => ref));
    // Turns that may go only with fewer others than this call has. They are dispatched anew, in small groups. They go now,
    // since the bodies of this call may take hours.
    const suspects = asked.flatMap(({ ref }, index) => {
      const refused = answer.turns[index];
      return refused?.outcome === "alone" ? [inGroupOf(refused.groupSize, ref)] : [];
    });
    const regrouped = Promise.all(groupsOf(suspects).map((group) => followUps.send(group)));
    // Turns of which other deployments have the code. They are told now, for the same reason.
    const carriers = answer.turns.flatMap((turn) => (turn.outcome === "not_here" ? (turn.carriers ?? []) : []));
    const rung = this.#context.carriers.ring(carriers, answer.now + lookAheadMs);
    const madeDue = this.#makeDueSooner(
      asked.flatMap(({ ref }, index) => {
        const refused = answer.turns[index];
        return refused?.outcome === "due_late" ? [{ ref, dueAt: refused.dueAt }] : [];
      }),
    );
    await Promise.all(
      asked.map(async ({ ref, held, turn }, index) => {
        const claimed = answer.turns[index];
        try {
          if (claimed?.outcome === "claimed") await this.#carryOutOne(ref, { turn, claimed, held }, askedAt);
          else if (claimed?.outcome === "not_ready" && claimed.readyAt !== null)
            await followUps.later(ref, claimed.readyAt);
          else if (claimed?.outcome === "not_here") options.onElsewhere?.(ref);
          else if (claimed?.outcome === "wrong_environment")
            this.#report(wrongEnvironment(terms.environment), "claiming turns");
        } catch (error) {
          this.#report(error, `carrying out a turn of run ${ref.runId}`);
        } finally {
          historyBudget.free(turn);
          this.#invocation.noteTurnEnded();
          onEnd?.();
        }
      }),
    );
    await Promise.all([madeDue, regrouped, rung]);
    return answer.turns.every(({ outcome }) => outcome !== "wrong_environment");
  }

  async #carryOutOne(
    { branch }: TurnRef,
    { turn, claimed, held }: Omit<TurnAtWork<Claimed>, "lease">,
    askedAt: number,
  ): Promise<void> {
    const invocation = this.#invocation;
    const lease = invocation.leases.hold({ runId: turn.runId, token: turn.token, ...branch }, turn.turn);
    this.#context.leases.add(lease);
    try {
      // It was claimed alone, so it says that it begins, before it does anything.
      if (claimed.claims > 0 && !(await invocation.leases.begin(lease, claimed.beginnings + 1))) return;
      if (claimed.claims === 0 && !(await invocation.leases.stands(lease, askedAt))) return;
      if (branch === undefined) await carryOutRun(invocation, { turn, claimed: claimed as ClaimedRun, held, lease });
      else await carryOutBranch(invocation, branch, { turn, claimed: claimed as ClaimedBranch, held, lease });
    } catch (error) {
      lease.trace?.end("error", error);
      throw error;
    } finally {
      lease.trace?.end(lease.isLossTold || lease.isGivenBack ? "superseded" : "left");
      invocation.leases.release(lease);
      this.#context.leases.delete(lease);
    }
  }

  /**
   * Makes runs due sooner whose turns were dispatched in vain for long, and dispatches these turns anew. If that fails, the
   * next dispatch tries again: nobody would look in time if such a turn were claimed and its process died.
   */
  async #makeDueSooner(late: readonly { readonly ref: TurnRef; readonly dueAt: number }[]): Promise<void> {
    if (late.length === 0) return;
    const moves = late.map(({ ref: { runId }, dueAt }): Move => {
      return { runId, seenDueAt: dueAt, dueAt, isDispatched: false, branches: [] };
    });
    const once = [...new Map(moves.map((move) => [move.runId, move])).values()];
    try {
      await makeDueAgain(this.#context.options.calls, once);
      await this.#invocation.followUps.send(late.map(({ ref }) => ref));
    } catch (error) {
      this.#report(error, "claiming turns");
    }
  }

  readonly #report = (error: unknown, doing: string): void => {
    this.#context.report(error, doing);
  };
}

function leasesIn({ turns: answers }: ClaimAnswer, asked: readonly ClaimTurn[]): readonly ReturnTurn[] {
  return asked
    .filter((_, index) => answers[index]?.outcome === "claimed")
    .map(({ runId, token, path, occurrence }) => ({
      ...{ runId, token },
      ...(path !== undefined && occurrence !== undefined && { path, occurrence }),
    }));
}

function withoutLeases(answer: ClaimAnswer): ClaimAnswer {
  const turns = answer.turns.map((turn) => (turn.outcome === "claimed" ? { outcome: "superseded" as const } : turn));
  return { ...answer, turns };
}
