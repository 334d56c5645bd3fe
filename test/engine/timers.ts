/** The timers of a host whose clock is off. */
import { Timers } from "../../src/testing/timers.ts";

export interface SkewedTimersOptions {
  /** The time of the world, in milliseconds. */
  readonly time: () => number;
  /** How far the host's clock is ahead, in milliseconds. Default: 0. */
  readonly skewMs?: number | undefined;
  /** The instant at which the world began, in epoch milliseconds. Default: 0. */
  readonly beginning?: number | undefined;
}

export class SkewedTimers extends Timers {
  readonly #skewMs: number;
  readonly #beginning: number;

  constructor({ time, skewMs = 0, beginning = 0 }: SkewedTimersOptions) {
    super(time);
    this.#skewMs = skewMs;
    this.#beginning = beginning;
  }

  override monotonic(): number {
    return super.monotonic() + this.#skewMs;
  }

  override now(): number {
    return this.#beginning + this.monotonic();
  }
}
