/**
 * Dispatch within one process: a queue in memory, and at most so many invocations at a time, each of which takes what
 * is ready together. Losing it with the process loses nothing.
 */
import type { TurnRef } from "../core/ports.ts";

export interface InProcessDispatchOptions {
  readonly carryOut: (turns: readonly TurnRef[]) => Promise<void>;
  /** How many invocations may be under way. */
  readonly concurrency: number;
  /** How many turns one invocation takes. */
  readonly batch: number;
}

export class InProcessDispatch {
  readonly #options: InProcessDispatchOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<void>>();
  #queue: TurnRef[] = [];
  #next = 0;
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
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Takes nothing more; resolves when the invocations under way have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue = [];
    this.#next = 0;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.idle();
  }

  #enqueue(turns: readonly TurnRef[]): void {
    if (this.#isClosed) return;
    this.#queue.push(...turns);
    this.#pump();
  }

  #pump(): void {
    while (this.#underWay.size < this.#options.concurrency && this.#next < this.#queue.length) {
      const invocation = this.#options.carryOut(this.#takeBatch()).finally(() => {
        this.#underWay.delete(invocation);
        this.#pump();
      });
      this.#underWay.add(invocation);
    }
  }

  /** What was claimed before and never finished goes alone: it may have killed its process. */
  #takeBatch(): readonly TurnRef[] {
    const rest = this.#queue.slice(this.#next, this.#next + this.#options.batch);
    const firstAlone = rest.findIndex(({ alone }) => alone);
    const batch = firstAlone === -1 ? rest : rest.slice(0, Math.max(firstAlone, 1));
    this.#next += batch.length;
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
    return batch;
  }
}
