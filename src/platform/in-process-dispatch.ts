/**
 * Dispatch within one process: a queue in memory, and at most so many invocations at a time, each of which takes what
 * is ready together, as the turns of a batch are that was recorded by one statement. Losing it with the process loses
 * nothing.
 *
 * What lost several leases in a row may have ended its process, so it goes in a group with few of its kind, or alone. One
 * such group is under way at a time, or one that does no harm would be blamed for the deaths that another one brings. The
 * groups queue behind each other; whatever else there is goes on beside them.
 *
 * Two limits, since bodies may take milliseconds or hours. An invocation counts as one of `concurrency` for a second at most,
 * so that slow bodies keep nobody from beginning, while fast turns still gather to batches. And its turns count as at work,
 * each until it has ended, so that however many are ready together, so many bodies at most run at once.
 */
import { groupSizeOf } from "../core/groups.ts";
import type { TurnRef } from "../core/ports.ts";

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

/** Whatever takes longer has a slow body. */
const slowMs = 1_000;

export class InProcessDispatch {
  readonly #options: InProcessDispatchOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<unknown>>();
  /** How many invocations are under way that are not slow, and how many turns. */
  #fast = 0;
  #turns = 0;
  #queue: TurnRef[] = [];
  #next = 0;
  /** By the size of their groups. */
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

  /** Once for all that happens in the same moment. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#fast < this.#options.concurrency && this.#room > 0) {
      const isGroup = this.#isGroupsTurn();
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

  get #room(): number {
    return (this.#options.mostTurns ?? 1_000) - this.#turns;
  }

  /** Groups take turns with the rest, so that neither holds up the other where only one invocation may be under way. */
  #isGroupsTurn(): boolean {
    if (this.#isGroupUnderWay || this.#suspects.size === 0) return false;
    return this.#isGroupNext || this.#next === this.#queue.length;
  }

  #queueOf(groupSize: number | undefined): TurnRef[] {
    if (groupSize === undefined) return this.#queue;
    const queue = this.#suspects.get(groupSize) ?? [];
    this.#suspects.set(groupSize, queue);
    return queue;
  }

  /** Groups of each size in turn. */
  #takeGroup(): readonly TurnRef[] {
    for (const [size, queue] of this.#suspects) {
      const group = queue.splice(0, Math.min(size, this.#room));
      this.#suspects.delete(size);
      if (queue.length > 0) this.#suspects.set(size, queue);
      return group;
    }
    return [];
  }

  #takeBatch(): readonly TurnRef[] {
    const batch = this.#queue.slice(this.#next, this.#next + Math.min(this.#options.batch, this.#room));
    this.#next += batch.length;
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
    return batch;
  }
}
