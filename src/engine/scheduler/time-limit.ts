/**
 * The time limit of work that consists of many calls. If the answer of a call does not come in time, the work ends. The
 * answer may still come later, and then changes nothing.
 */
import { LayoverError } from "../../core/errors.ts";
import type { HostClock } from "../../core/ports.ts";
import { within } from "../../core/waits.ts";

export interface TimeLimitOptions {
  readonly host: HostClock;
  readonly ms: number;
  /** Name of the work, for the error. */
  readonly what: string;
  /** Ends the work before its time. */
  readonly abortSignal?: AbortSignal | undefined;
}

export class TimeLimit {
  readonly #options: TimeLimitOptions;
  #endsAt: number;

  constructor(options: TimeLimitOptions) {
    this.#options = options;
    this.#endsAt = options.host.monotonic() + options.ms;
  }

  /** Gives the rest of the work the whole time again, once a part of it is done for good. */
  extend(): void {
    this.#endsAt = this.#options.host.monotonic() + this.#options.ms;
  }

  /**
   * Makes a call, and waits for its end while there is time left.
   *
   * @throws LayoverError `no_answer`; the signal's reason
   */
  async wait<Result>(call: () => Promise<Result>): Promise<Result> {
    const { host, abortSignal } = this.#options;
    abortSignal?.throwIfAborted();
    const leftMs = this.#endsAt - host.monotonic();
    if (leftMs <= 0) throw this.#late();
    return await within(host, leftMs, call(), () => this.#late(), abortSignal);
  }

  #late(): LayoverError {
    const { what, ms } = this.#options;
    return new LayoverError("no_answer", `${what} got no further within ${ms / 1_000} seconds`, {
      hint: "It is tried again by itself. If this goes on, check the database and the network to it.",
    });
  }
}
