/** Counts what is named alike within a run: 1, 2, 3 … */
export class Occurrences {
  readonly #counts = new Map<string, number>();

  /** Answers the number of the next one of this name. */
  next(key: string): number {
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }
}
