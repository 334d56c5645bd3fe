/**
 * Bodies that run in this process, by the place of their step. A body may run on after its step's timeout. Then the
 * next attempt waits for it, so that no two bodies do the same work at a time.
 */
export class Bodies {
  readonly #running = new Map<string, Promise<unknown>>();

  /** Keeps `body` until it has ended. */
  add(place: string, body: PromiseLike<unknown>): void {
    const ended: Promise<void> = Promise.resolve(body).then(
      () => this.#remove(place, ended),
      () => this.#remove(place, ended),
    );
    this.#running.set(place, ended);
  }

  /** Finds the body that runs at that place; its promise resolves when the body has ended. Undefined: none runs there. */
  find(place: string): Promise<unknown> | undefined {
    return this.#running.get(place);
  }

  #remove(place: string, ended: Promise<unknown>): void {
    if (this.#running.get(place) === ended) this.#running.delete(place);
  }
}
