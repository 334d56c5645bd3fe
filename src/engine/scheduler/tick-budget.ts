/** How much one tick may dispatch. The rest stays due, and is not counted as dispatched. */
import { groupSizeOf } from "../../core/groups.ts";
import type { Look } from "./due-runs.ts";

export interface MostOfTick {
  readonly turns: number;
  /** How many groups of suspects. */
  readonly groups: number;
}

export class TickBudget {
  #turns: number;
  #groups: number;

  constructor({ turns, groups }: MostOfTick = { turns: Number.POSITIVE_INFINITY, groups: Number.POSITIVE_INFINITY }) {
    this.#turns = turns;
    this.#groups = groups;
  }

  /** Whether no further turn may be dispatched, suspects left aside. */
  get isFull(): boolean {
    return this.#turns <= 0;
  }

  /**
   * Counts the turns of one run, and answers whether they still fit. All turns of a run go together, since a run has one due
   * instant. So the last run to fit may take more than is left.
   */
  take({ turns }: Look): boolean {
    const sizes = turns.flatMap(({ ref }) => groupSizeOf(ref) ?? []);
    const others = turns.length - sizes.length;
    if ((sizes.length > 0 && this.#groups <= 0) || (others > 0 && this.#turns <= 0)) return false;
    for (const size of sizes) this.#groups -= 1 / size;
    this.#turns -= others;
    return true;
  }

  /** Counts turns that are dispatched whether they fit or not. */
  takeTurns(count: number): void {
    this.#turns -= count;
  }
}
