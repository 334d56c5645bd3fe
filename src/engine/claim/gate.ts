/**
 * Whether this process may claim. It may not while the database takes no results: the result of each further body would
 * have to be kept in memory. Turns that wait here are not lost, since they were not claimed yet.
 */
export class Gate {
  readonly #closers = new Set<object>();
  #waiting: (() => void)[] = [];
  #isGone = false;

  get isOpen(): boolean {
    return this.#isGone || this.#closers.size === 0;
  }

  /** Closes the gate until everybody who closed it has opened it again. */
  close(closer: object): void {
    this.#closers.add(closer);
  }

  open(closer: object): void {
    this.#closers.delete(closer);
    this.#letPass();
  }

  /** Opens the gate for good. The process ends, so nobody may wait here any longer. */
  remove(): void {
    this.#isGone = true;
    this.#letPass();
  }

  /** Resolves when the gate is open. */
  async untilOpen(): Promise<void> {
    while (!this.isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #letPass(): void {
    if (!this.isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
