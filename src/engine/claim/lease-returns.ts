/**
 * Gives leases back when the process ends. A claim may be under way then, and its answer brings a lease that nobody will
 * carry out. Such a lease is given back as soon as the answer is there, and the end waits for that.
 */
import type { Calls } from "../../postgres/calls.ts";
import type { ReturnTurn } from "../../postgres/wire.ts";

export class LeaseReturns {
  readonly #calls: Calls;
  readonly #onError: (error: unknown, doing: string) => void;
  readonly #underWay = new Set<Promise<unknown>>();
  #hasBegun = false;

  constructor(calls: Calls, onError: (error: unknown, doing: string) => void) {
    this.#calls = calls;
    this.#onError = onError;
  }

  /**
   * Does what may bring leases. If leases are given back by now, so are the new ones (`broughtBy`), and this answers
   * what `without` makes of the answer. Otherwise it answers what the call has answered.
   */
  async bring<Answer>(
    call: () => Promise<Answer>,
    broughtBy: (answer: Answer) => readonly ReturnTurn[],
    without: (answer: Answer) => Answer,
  ): Promise<Answer> {
    const work = this.#bring(call, broughtBy, without);
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Gives these leases back, and each that a call under way brings. Resolves when no such call is under way. */
  async begin(turns: readonly ReturnTurn[]): Promise<void> {
    this.#hasBegun = true;
    await Promise.all([this.#giveBack(turns), Promise.allSettled(this.#underWay)]);
  }

  async #bring<Answer>(
    call: () => Promise<Answer>,
    broughtBy: (answer: Answer) => readonly ReturnTurn[],
    without: (answer: Answer) => Answer,
  ): Promise<Answer> {
    const answer = await call();
    if (!this.#hasBegun) return answer;
    await this.#giveBack(broughtBy(answer));
    return without(answer);
  }

  /** A turn that cannot be given back is claimed when its lease has ended. */
  async #giveBack(turns: readonly ReturnTurn[]): Promise<void> {
    if (turns.length === 0) return;
    await this.#calls.returnLeases(turns).catch((error: unknown) => this.#onError(error, "giving leases back"));
  }
}
