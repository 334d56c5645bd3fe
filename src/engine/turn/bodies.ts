/**
 * Bodies that run in this process, by the place of their step. A body may run on after its step's timeout. Then the
 * next attempt waits for it, so that no two bodies do the same work at a time.
 */
export class Bodies {
  readonly #running = new Map<string, Promise<unknown>>();

  /** Keeps `body` until it is over. */
  add(place: string, body: PromiseLike<unknown>): void {
    const over: Promise<void> = Promise.resolve(body).then(
      () => this.#remove(place, over),
      () => this.#remove(place, over),
    );
    this.#running.set(place, over);
  }

  /** Finds the body that runs at that place; its promise resolves when it is over. Undefined: none runs there. */
  find(place: string): Promise<unknown> | undefined {
    return this.#running.get(place);
  }

  #remove(place: string, over: Promise<unknown>): void {
    if (this.#running.get(place) === over) this.#running.delete(place);
  }
}
