/** Collects what is dispatched in one moment, so that it goes together. */
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import type { UnderWay } from "./under-way.ts";

export interface MomentOptions<Item> {
  readonly host: HostClock;
  readonly underWay: UnderWay;
  /** Sends what one moment has collected, or carries it out. */
  readonly send: (items: readonly Item[]) => Promise<void>;
}

export class Moment<Item> {
  readonly #options: MomentOptions<Item>;
  #collected: Item[] = [];
  #isHeld = false;

  constructor(options: MomentOptions<Item>) {
    this.#options = options;
  }

  /** Adds to what goes next. */
  add(items: readonly Item[]): void {
    if (this.#collected.length === 0 && !this.#isHeld) this.#begin();
    this.#collected.push(...items);
  }

  /** Makes one moment of `work`: what is dispatched meanwhile goes when it has ended. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isHeld = true;
    try {
      return await work();
    } finally {
      this.#isHeld = false;
      if (this.#collected.length > 0) this.#begin();
    }
  }

  #begin(): void {
    this.#options.underWay.add(this.#end());
  }

  async #end(): Promise<void> {
    await pause(this.#options.host, 0);
    const items = this.#collected;
    this.#collected = [];
    await this.#options.send(items);
  }
}
