/**
 * What a tick does with the runs that it has looked at. The order matters: it arms, then moves the due instants on, and
 * only then dispatches. If the process dies in between, each run is due at an instant for which an alarm stands.
 */
import { groupsOf, isSuspect } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { motionMinute } from "../../core/waking.ts";
import type { Move } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { refusalBy } from "../finish/refusal.ts";
import type { DelayedTurn, Look } from "./due-runs.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface MoveTerms {
  /** Whether the dispatches of these runs are counted from the beginning. */
  readonly countsAnew: boolean;
  /** The instant to which a run is moved that was woken since it was listed. It is armed only then. */
  readonly soonAt: number;
  /** Whether runs that somebody has locked are left alone. Otherwise the call waits for them. */
  readonly skipsLocked: boolean;
}

export interface MoverOptions {
  readonly context: EngineContext;
  readonly limit: TimeLimit;
  readonly onMoved: ((moves: readonly Move[]) => void) | undefined;
}

export class Mover {
  readonly #options: MoverOptions;
  #dispatched = 0;

  constructor(options: MoverOptions) {
    this.#options = options;
  }

  /** How many turns it has dispatched. */
  get dispatched(): number {
    return this.#dispatched;
  }

  /** Moves runs on and dispatches them. Answers those that it left alone, because somebody has locked them. */
  async moveOn(looks: readonly Look[], terms: MoveTerms): Promise<readonly Look[]> {
    if (looks.length === 0) return [];
    const { context, limit, onMoved } = this.#options;
    const { calls, deployment } = context.options;
    const { countsAnew, soonAt, skipsLocked } = terms;
    const how = { isNew: countsAnew, skipsLocked: skipsLocked || undefined, deployment: deployment?.id };
    const moves = looks.map(({ move }) => move);
    onMoved?.(moves);
    const dueInstants = moves.flatMap(({ dueAt }) => dueAt ?? []);
    await limit.wait(() => calls.alarms.arm(dueInstants));
    const { left: notMoved, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));
    const isLocked = new Set(locked);
    if (notMoved > 0) {
      const again = moves.filter(({ runId }) => !isLocked.has(runId));
      await limit.wait(() => calls.alarms.arm([soonAt]));
      const { locked } = await limit.wait(() => calls.moveDue({ moves: again, ...how, soonAt }));
      for (const runId of locked ?? []) isLocked.add(runId);
    }
    const free = looks.filter(({ move }) => !isLocked.has(move.runId));
    await this.dispatch(free.flatMap(({ turns }) => turns));
    return looks.filter(({ move }) => isLocked.has(move.runId));
  }

  /**
   * Waits for the runs that somebody had locked, a while. The others have gone ahead, so what was armed may have rung. If
   * some are locked still, a tick follows in a minute. Answers whether that tick sees all of them: whether they are due by then.
   */
  async moveLocked(locked: readonly Look[], countsAnew: boolean): Promise<boolean> {
    const { context, limit } = this.#options;
    const { clock, alarms } = context.options.calls;
    const soonAt = motionMinute(clock.now());
    const looks = locked.map(({ move, turns }) => ({
      move: { ...move, dueAt: move.dueAt && Math.max(move.dueAt, soonAt) },
      turns,
    }));
    try {
      await this.moveOn(looks, { countsAnew, soonAt, skipsLocked: false });
      return true;
    } catch (error) {
      if (!refusalBy(error).isLocked) throw error;
      context.report(error, "looking for what is due");
      await limit.wait(() => alarms.arm([soonAt]));
      return looks.every(({ move: { seenDueAt } }) => seenDueAt !== null && seenDueAt <= soonAt);
    }
  }

  /** Dispatches turns. A dispatch that fails is reported, and the next one follows: the alarm of the run stands. */
  async dispatch(turns: readonly DelayedTurn[]): Promise<void> {
    const { context, limit } = this.#options;
    for (const [refs, delayMs] of dispatchesOf(turns)) {
      if (refs.length === 0) continue;
      try {
        await limit.wait(() => context.options.dispatch(refs, delayMs));
        this.#dispatched += refs.length;
      } catch (error) {
        context.report(error, "dispatching");
      }
    }
  }
}

/** Sorts turns into dispatches: what is ready now together, each group of suspects apart, and the rest by its delay. */
function dispatchesOf(turns: readonly DelayedTurn[]): readonly (readonly [readonly TurnRef[], number])[] {
  const now = turns.filter(({ delayMs }) => delayMs === 0).map(({ ref }) => ref);
  const ready = now.filter((ref) => !isSuspect(ref));
  const groups = groupsOf(now.filter(isSuspect));
  const byDelay = Map.groupBy(
    turns.filter(({ delayMs }) => delayMs > 0),
    ({ delayMs }) => delayMs,
  );
  const later = [...byDelay].map(([delayMs, together]) => [together.map(({ ref }) => ref), delayMs] as const);
  return [[ready, 0], ...groups.map((group) => [group, 0] as const), ...later];
}
