/**
 * What an invocation may carry out itself of the turns that it dispatches, instead of sending them to another one. It takes
 * no turn that goes in a group of its own, since that may kill whoever carries it out.
 */
import { isSuspect } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import type { LocalWork } from "./host.ts";

export class WorkHere {
  readonly #here: LocalWork | undefined;
  #stepsLeft: number;

  constructor(here: LocalWork | undefined) {
    this.#here = here;
    this.#stepsLeft = here?.steps ?? 0;
  }

  /** Carries out turns that are ready, if there are steps and time left for all of them. False: nothing was begun. */
  async takes(turns: readonly TurnRef[]): Promise<boolean> {
    const here = this.#here;
    if (here === undefined || turns.length > this.#stepsLeft || !here.isOpen() || turns.some(isSuspect)) return false;
    return await here.carryOut(turns, this.#spend(turns));
  }

  /** How many steps each turn may take of those that are left. A branch's turn is one. */
  #spend(turns: readonly TurnRef[]): number {
    const branches = turns.filter(({ branch }) => branch !== undefined).length;
    const runs = turns.length - branches;
    const steps = Math.floor((this.#stepsLeft - branches) / Math.max(1, runs));
    this.#stepsLeft -= branches + runs * steps;
    return Math.max(1, steps);
  }
}
