/**
 * Carries out turns in the invocation that dispatches them, until its time is over. No request of the deployment to itself
 * follows, since hosts stop such chains. A turn for which there is no time is left to the alarm, which stands for its run.
 *
 * A turn that may have ended its process goes in a group, after all others, and one group after another. So if one of
 * them ends the process again, the others have lost no lease by it.
 */
import { groupsOf, isSuspect } from "../../core/groups.ts";
import type { Dispatch, TurnRef } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import type { Dispatcher, DispatchTerms } from "../invocation/host.ts";
import { Moment } from "../invocation/moment.ts";
import { piecesOf } from "../invocation/pieces.ts";
import { UnderWay } from "../invocation/under-way.ts";

export interface HereOptions extends DispatchTerms {
  /** How many turns one claim carries. */
  readonly batch: number;
  /** How many claims are at work at once. */
  readonly concurrency: number;
}

/** The longest wait within a request. After a longer one the alarm wakes the run. */
const longestPauseMs = 30_000;

/** The most steps of a run that one claim of it carries out. Then others have their turn. */
const mostSteps = 100;

export class HereDispatch implements Dispatcher {
  readonly #options: HereOptions;
  readonly #underWay = new UnderWay(undefined);
  /** The work of the suspects, one group after another. */
  #suspects: Promise<void> = Promise.resolve();
  readonly #moment: Moment<TurnRef>;
  #isWhole = true;

  constructor(options: HereOptions) {
    this.#options = options;
    const { host } = options;
    this.#moment = new Moment({ host, underWay: this.#underWay, send: (turns) => this.#carryOutAll(turns) });
  }

  readonly dispatch: Dispatch = async (turns, delayMs) => {
    const { host, until } = this.#options;
    if (delayMs > longestPauseMs) return;
    if (host.now() + delayMs >= until()) this.#refuse(turns);
    else if (delayMs > 0) this.#underWay.add(pause(host, delayMs).then(() => this.#moment.add(turns)));
    else this.#moment.add(turns);
  };

  get isWhole(): boolean {
    return this.#isWhole;
  }

  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#moment.together(work);
  }

  async settled(): Promise<void> {
    await this.#underWay.settled();
  }

  #refuse(turns: readonly TurnRef[]): void {
    this.#isWhole = false;
    this.#options.onRefused(turns);
  }

  async #carryOutAll(turns: readonly TurnRef[]): Promise<void> {
    const { batch, concurrency } = this.#options;
    const others = turns.filter((turn) => !isSuspect(turn));
    const queue = piecesOf(others, { most: batch, mostBytes: Number.POSITIVE_INFINITY, bytesOf: () => 0 }).values();
    const lane = async (): Promise<void> => {
      for (const piece of queue) await this.#carryOut(piece);
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
    for (const group of groupsOf(turns.filter(isSuspect))) {
      this.#suspects = this.#suspects.then(() => this.#carryOut(group));
      await this.#suspects;
    }
  }

  async #carryOut(turns: readonly TurnRef[]): Promise<void> {
    const { here, onError } = this.#options;
    if (!here.isOpen()) return this.#refuse(turns);
    try {
      if (!(await here.carryOut(turns, mostSteps))) this.#refuse(turns);
    } catch (error) {
      this.#refuse(turns);
      onError(error);
    }
  }
}
