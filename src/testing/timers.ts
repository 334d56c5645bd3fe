/** The timers of one process, on time that passes only when a test says so; and the few real ones, to wait for bodies. */
import type { WallClock } from "../core/ports.ts";

interface Timer {
  readonly at: number;
  readonly act: () => void;
}

export class Timers implements WallClock {
  readonly #time: () => number;
  readonly #timers = new Set<Timer>();

  /** `time`: what it is, in milliseconds. */
  constructor(time: () => number) {
    this.#time = time;
  }

  now(): number {
    return this.#time();
  }

  monotonic(): number {
    return this.#time();
  }

  after(ms: number, act: () => void): () => void {
    const timer = { at: Math.ceil(this.#time() + Math.max(0, ms)), act };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** When the next one fires. */
  get next(): number | undefined {
    return this.#first()?.at;
  }

  /** Fires the first one that is due, of several of one instant the one set first. False: none is. */
  fire(): boolean {
    const first = this.#first();
    if (first === undefined || first.at > this.#time()) return false;
    this.#timers.delete(first);
    first.act();
    return true;
  }

  clear(): void {
    this.#timers.clear();
  }

  #first(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }
}

// Taken when this is loaded: a test that fakes the timers of its own code does not stop the kit.
const { setImmediate: realImmediate, setTimeout: realTimeout } = globalThis;

/** Resolves when microtasks are drained and one macrotask has passed. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}

export function realPause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    realTimeout(resolve, ms);
  });
}
