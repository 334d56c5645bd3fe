/** What an invocation has begun, and waits for before it ends. */
export class UnderWay {
  readonly #works = new Set<Promise<void>>();
  readonly #keepAlive: ((work: Promise<void>) => void) | undefined;

  /** `keepAlive` keeps the request from ending before the work does. */
  constructor(keepAlive: ((work: Promise<void>) => void) | undefined) {
    this.#keepAlive = keepAlive;
  }

  add(begun: Promise<void>): void {
    const work = begun.finally(() => this.#works.delete(work));
    this.#works.add(work);
    this.#keepAlive?.(work);
  }

  /** Resolves when nothing is under way any more. Rejects if some of it does. */
  async settled(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works);
  }
}
