/** What an invocation has begun, and waits for before it ends. */
export class UnderWay {
  readonly #works = new Set<Promise<void>>();
  readonly #hold: ((work: Promise<void>) => void) | undefined;

  /** `hold` keeps the request from ending before the work does. */
  constructor(hold: ((work: Promise<void>) => void) | undefined) {
    this.#hold = hold;
  }

  add(begun: Promise<void>): void {
    const work = begun.finally(() => this.#works.delete(work));
    this.#works.add(work);
    this.#hold?.(work);
  }

  /** Resolves when nothing is under way any more. Rejects if some of it does. */
  async settled(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works);
  }
}
