/** The timers of a host whose clock is off, and which may be frozen for a while. */
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
  #isFrozen = false;
  #frozenAt = 0;
  #stoodMs = 0;

  constructor({ time, skewMs = 0, beginning = 0 }: SkewedTimersOptions) {
    super(time);
    this.#skewMs = skewMs;
    this.#beginning = beginning;
  }

  override monotonic(): number {
    return super.monotonic() + this.#skewMs - this.#stoodMs;
  }

  override now(): number {
    return this.#beginning + super.monotonic() + this.#skewMs;
  }

  /** Nothing fires any more. */
  freeze(): void {
    this.#isFrozen = true;
    this.#frozenAt = super.monotonic();
  }

  /** It goes on. `stoodStill`: its monotonic clock stood still meanwhile. */
  thaw({ stoodStill }: { readonly stoodStill: boolean }): void {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    if (stoodStill) this.#stoodMs += super.monotonic() - this.#frozenAt;
  }

  override get next(): number | undefined {
    return this.#isFrozen ? undefined : super.next;
  }

  override fire(): boolean {
    return !this.#isFrozen && super.fire();
  }
}
