/**
 * Whether this process may claim. It may not while the database takes no results: each further body would end in one more
 * result that has to be kept in memory. What waits here is not lost; it was not claimed yet.
 */
export class Gate {
  readonly #closers = new Set<object>();
  #waiting: (() => void)[] = [];
  #isGone = false;

  get isOpen(): boolean {
    return this.#isGone || this.#closers.size === 0;
  }

  /** Closes it until everybody who closed it has opened it again. */
  close(closer: object): void {
    this.#closers.add(closer);
  }

  open(closer: object): void {
    this.#closers.delete(closer);
    this.#letPass();
  }

  /** Opens it for good: its process ends, so whoever waits here is to leave. */
  remove(): void {
    this.#isGone = true;
    this.#letPass();
  }

  /** Resolves when the gate is open. */
  async pass(): Promise<void> {
    while (!this.isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #letPass(): void {
    if (!this.isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
