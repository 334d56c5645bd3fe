/**
 * Dispatch within one process: a queue in memory, and at most so many invocations at a time, each of which takes what
 * is ready together, as the turns of a batch are that was recorded by one statement. Losing it with the process loses
 * nothing.
 *
 * What was claimed before and never finished goes alone: it may have killed its process. It is counted, so no two of that
 * kind are under way at once, or one that does no harm would be blamed for the deaths that another one brings. They queue
 * behind each other; whatever else there is goes on beside them uncounted.
 */
import type { TurnRef } from "../core/ports.ts";

export interface InProcessDispatchOptions {
  readonly carryOut: (turns: readonly TurnRef[]) => Promise<unknown>;
  /** How many invocations may be under way. */
  readonly concurrency: number;
  /** How many turns one invocation takes. */
  readonly batch: number;
}

export class InProcessDispatch {
  readonly #options: InProcessDispatchOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<unknown>>();
  #queue: TurnRef[] = [];
  #next = 0;
  #alone: TurnRef[] = [];
  #isAloneUnderWay = false;
  #isAloneNext = true;
  #isPumpDue = false;
  #isClosed = false;

  constructor(options: InProcessDispatchOptions) {
    this.#options = options;
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (this.#isClosed) return;
    if (delayMs <= 0) return this.#enqueue(turns);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#enqueue(turns);
    }, delayMs);
    this.#timers.add(timer);
  };

  /** Resolves when nothing is under way and nothing is queued; delayed dispatches do not count. */
  async idle(): Promise<void> {
    while (this.#isPumpDue || this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Takes nothing more; resolves when the invocations under way have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue = [];
    this.#next = 0;
    this.#alone = [];
    for (const timer of this.#timers) clearTimeout(timer);
    await this.idle();
  }

  #enqueue(turns: readonly TurnRef[]): void {
    if (this.#isClosed) return;
    for (const turn of turns) (turn.alone ? this.#alone : this.#queue).push(turn);
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#underWay.size < this.#options.concurrency) {
      const isAlone = this.#isAloneTurn();
      const turns = isAlone ? this.#alone.splice(0, 1) : this.#takeBatch();
      if (turns.length === 0) return;
      if (isAlone) this.#isAloneUnderWay = true;
      this.#isAloneNext = !isAlone;
      const invocation = this.#options.carryOut(turns).finally(() => {
        this.#underWay.delete(invocation);
        if (isAlone) this.#isAloneUnderWay = false;
        this.#pump();
      });
      this.#underWay.add(invocation);
    }
  }

  /** They take turns with the rest, so that neither holds up the other where only one invocation may be under way. */
  #isAloneTurn(): boolean {
    if (this.#isAloneUnderWay || this.#alone.length === 0) return false;
    return this.#isAloneNext || this.#next === this.#queue.length;
  }

  #takeBatch(): readonly TurnRef[] {
    const batch = this.#queue.slice(this.#next, this.#next + this.#options.batch);
    this.#next += batch.length;
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
    return batch;
  }
}
