/**
 * How much history the runs at work in this process hold together. Slow bodies can keep a thousand runs at work for
 * hours, and each may have a history of 16 MiB. So no further turn is claimed while the limit is reached.
 */

/** The largest history, in bytes. A claim that is not answered yet may bring as much. */
const largestHistory = 16 * 1024 * 1024;

export interface Load {
  readonly bytes: number;
}

export class HistoryBudget {
  readonly #mostBytes: number;
  /** The loads by their holders. Branches of a run that share a loaded run share its load. */
  readonly #loads = new Map<object, Load>();
  #waiting: (() => void)[] = [];
  #isGone = false;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isFull(): boolean {
    if (this.#isGone || this.#loads.size === 0 || this.#mostBytes === Number.POSITIVE_INFINITY) return false;
    const free = this.#mostBytes - largestHistory;
    return bytesOf(this.#loads.values()) > free && bytesOf(new Set(this.#loads.values())) > free;
  }

  /** Reserves room for a claim that is sent now. */
  reserve(claim: object): void {
    this.#loads.set(claim, { bytes: largestHistory });
  }

  /** Counts the history that a holder has now, in place of what it had before. */
  enter(holder: object, load: Load): void {
    this.#loads.set(holder, load);
    this.#letPass();
  }

  /** Counts nothing more for a holder. */
  free(holder: object): void {
    if (this.#loads.delete(holder)) this.#letPass();
  }

  /** Removes the limit for good. The process ends, so nobody may wait here any longer. */
  remove(): void {
    this.#isGone = true;
    this.#letPass();
  }

  /** Resolves when a further claim fits. */
  async untilFree(): Promise<void> {
    while (this.isFull) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #letPass(): void {
    if (this.#waiting.length === 0 || this.isFull) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

function bytesOf(loads: Iterable<Load>): number {
  let sum = 0;
  for (const { bytes } of loads) sum += bytes;
  return sum;
}
