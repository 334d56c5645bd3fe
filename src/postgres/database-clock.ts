/**
 * What time the database has. It alone owns the clock; a process learns the time from every answer and counts on
 * from there by its own monotonic clock, so a host whose wall clock is wrong does no harm.
 */

import type { HostClock } from "../core/ports.ts";
import { longestMotionMs } from "../core/waking.ts";

/** The difference from the expected time at which an answer shows that the database's clock was set. */
const stepMs = 1_000;

export class DatabaseClock {
  /**
   * The latest instant by which runs may be due that were in motion when the clock was set back. 0: it was not, or a tick
   * has looked at those that are ready since, and has set this to 0.
   */
  readyUntil = 0;
  readonly #host: HostClock;
  #learned: { readonly now: number; readonly at: number } | undefined;
  /** When a step of the clock was last noticed. Answers to earlier questions are ignored. */
  #steppedAt = Number.NEGATIVE_INFINITY;

  constructor(host: HostClock) {
    this.#host = host;
  }

  get isKnown(): boolean {
    return this.#learned !== undefined;
  }

  /**
   * Learns the time from an answer. `sentAt`: when the question was sent, by the host's monotonic clock. The answer's
   * time lies between then and now. True: the database's clock was set, as by a failover, so everything that was
   * computed from it before is wrong.
   */
  learn(now: number, sentAt = this.#host.monotonic()): boolean {
    if (sentAt < this.#steppedAt) return false;
    const at = this.#host.monotonic();
    const [earliest, latest] = this.#learned === undefined ? [now, now] : [this.#reckon(sentAt), this.#reckon(at)];
    // A known time that fits the answer is kept. An answer that was long under way would be less exact.
    if (this.#learned !== undefined && now >= earliest && now <= latest) return false;
    this.#learned = { now, at };
    if (now >= earliest - stepMs && now <= latest + stepMs) return false;
    this.#steppedAt = at;
    if (now < earliest) this.readyUntil = Math.max(this.readyUntil, Math.floor(latest) + longestMotionMs);
    return true;
  }

  /**
   * The database's time in epoch milliseconds, late by what the network took. Throws before the first answer.
   */
  now(): number {
    return Math.floor(this.#reckon(this.#host.monotonic()));
  }

  /** Computes the database's time at an instant of the host's clock. */
  #reckon(at: number): number {
    if (this.#learned === undefined) throw new Error("the database's time was not asked yet");
    return this.#learned.now + (at - this.#learned.at);
  }
}
