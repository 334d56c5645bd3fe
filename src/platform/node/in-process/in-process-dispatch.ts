/**
 * Dispatches within one process, by a queue in memory. The number of invocations at a time is limited. Each takes turns
 * that are ready together, as a batch that one statement has recorded. If the queue is lost with the process, nothing
 * is lost.
 *
 * A turn that lost several leases in a row may have ended its process. So it goes in a group with few of its kind, or
 * alone. Only one such group is under way at a time: otherwise a harmless group would be blamed for the deaths that
 * another one brings. The groups queue behind each other, and all other turns go on beside them.
 *
 * There are two limits, since bodies may take milliseconds or hours. An invocation counts towards `concurrency` for a
 * second at most. So slow bodies keep nobody from beginning, while fast turns still gather to batches. And each turn
 * counts as at work until it has ended. So however many are ready together, the number of bodies that run at once is
 * limited.
 */
import { groupSizeOf } from "../../../core/groups.ts";
import type { TurnRef } from "../../../core/ports.ts";

export interface InProcessDispatchOptions {
  /** `onEnd` is told of each turn that has ended. */
  readonly carryOut: (turns: readonly TurnRef[], onEnd: () => void) => Promise<unknown>;
  /** How many invocations may be under way that began within the last second. */
  readonly concurrency: number;
  /** How many turns one invocation takes. */
  readonly batch: number;
  /** How many turns may be under way in all. Default: 1,000. */
  readonly mostTurns?: number;
}

/** The time after which an invocation counts as slow. */
const slowMs = 1_000;

export class InProcessDispatch {
  readonly #options: InProcessDispatchOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<unknown>>();
  /** How many invocations are under way that are not slow. */
  #fast = 0;
  #turns = 0;
  #queue: TurnRef[] = [];
  #next = 0;
  /** The turns that may have ended their process, by the size of their groups. */
  readonly #suspects = new Map<number, TurnRef[]>();
  #isGroupUnderWay = false;
  #isGroupNext = true;
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
    this.#suspects.clear();
    for (const timer of this.#timers) clearTimeout(timer);
    await this.idle();
  }

  #enqueue(turns: readonly TurnRef[]): void {
    if (this.#isClosed) return;
    for (const turn of turns) this.#queueOf(groupSizeOf(turn)).push(turn);
    this.#pumpSoon();
  }

  /** Begins invocations once for all that is dispatched in the same moment. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#fast < this.#options.concurrency && this.#turnsLeft > 0) {
      const isGroup = this.#isGroupNextUp();
      const turns = isGroup ? this.#takeGroup() : this.#takeBatch();
      if (turns.length === 0) return;
      if (isGroup) this.#isGroupUnderWay = true;
      this.#isGroupNext = !isGroup;
      const invocation = this.#carryOut(turns).finally(() => {
        this.#underWay.delete(invocation);
        if (isGroup) this.#isGroupUnderWay = false;
        this.#pump();
      });
      this.#underWay.add(invocation);
    }
  }

  async #carryOut(turns: readonly TurnRef[]): Promise<void> {
    let isFast = true;
    const slow = (): void => {
      if (isFast) this.#fast -= 1;
      isFast = false;
    };
    let left = turns.length;
    const end = (count: number): void => {
      left -= count;
      this.#turns -= count;
    };
    this.#fast += 1;
    this.#turns += left;
    const timer = setTimeout(() => {
      slow();
      this.#pump();
    }, slowMs);
    try {
      await this.#options.carryOut(turns, () => {
        if (left > 0) end(1);
        this.#pumpSoon();
      });
    } finally {
      clearTimeout(timer);
      slow();
      end(left);
    }
  }

  /** How many more turns may be under way. */
  get #turnsLeft(): number {
    return (this.#options.mostTurns ?? 1_000) - this.#turns;
  }

  /**
   * Whether a group begins next. Groups and other turns alternate, so that neither holds up the other, even if only one
   * invocation may be under way.
   */
  #isGroupNextUp(): boolean {
    if (this.#isGroupUnderWay || this.#suspects.size === 0) return false;
    return this.#isGroupNext || this.#next === this.#queue.length;
  }

  #queueOf(groupSize: number | undefined): TurnRef[] {
    if (groupSize === undefined) return this.#queue;
    const queue = this.#suspects.get(groupSize) ?? [];
    this.#suspects.set(groupSize, queue);
    return queue;
  }

  /** Takes a group. The sizes alternate. */
  #takeGroup(): readonly TurnRef[] {
    for (const [size, queue] of this.#suspects) {
      const group = queue.splice(0, Math.min(size, this.#turnsLeft));
      this.#suspects.delete(size);
      if (queue.length > 0) this.#suspects.set(size, queue);
      return group;
    }
    return [];
  }

  #takeBatch(): readonly TurnRef[] {
    const batch = this.#queue.slice(this.#next, this.#next + Math.min(this.#options.batch, this.#turnsLeft));
    this.#next += batch.length;
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
    return batch;
  }
}
