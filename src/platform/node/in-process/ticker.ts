/**
 * Runs the ticks of one process, one at a time: at its start, when an alarm rings, and when somebody asks. Rarely it
 * ticks unasked (a sweep), in case an alarm was lost. After a failed tick it tries again soon, since after an outage of
 * the database all work waits for a tick.
 */

import { QueryError } from "../../../core/ports.ts";
import { sweepMs } from "../../../core/waking.ts";
import { closing } from "../../../engine/closing.ts";
import { type Report, reportTo, sweepFound, type Tell } from "../../../engine/events.ts";
import type { TickAnswer } from "../../../engine/scheduler/tick.ts";
import { hostClock } from "../../../postgres/host-clock.ts";
import { watchSuspends } from "./suspends.ts";

export interface WhichTick {
  /** Whether no tick of this process has succeeded yet. */
  readonly isFirst: boolean;
  /**
   * Whether the tick also looks for what will be ready soon: the process that was to dispatch it may have failed, or be
   * dead.
   */
  readonly looksAhead: boolean;
  /** The tick also looks at what is ready and due by this instant of the database's clock. 0: nobody has asked for that. */
  readonly readyUntil: number;
  /** Whether other deployments have asked for this tick, and nobody else. */
  readonly isRung: boolean;
}

export interface TickerOptions {
  readonly tick: (which: WhichTick) => Promise<TickAnswer>;
  readonly tell: Tell;
  /** Draws a number in [0, 1), for jitter. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The pause after one failure. */
const firstPauseMs = 1_000;
/**
 * The pause after many failures in a row: if connections are lost, and if the database itself has answered with an
 * error.
 */
const longestPauseMs = { lost: 5_000, answered: 60_000 };

export class Ticker {
  readonly #options: TickerOptions;
  readonly #report: Report;
  readonly #sweeps: NodeJS.Timeout;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<TickAnswer> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopWatching = () => {};
  /** How many ticks in a row have failed. */
  #failures = 0;
  /** How many calls in a row could claim nothing, since the database failed or is not the one of this environment. */
  #failedClaims = 0;
  #rings = 0;
  #isFirst = true;
  #looksAhead = true;
  #readyUntil = 0;
  /** Whether only other deployments have asked for the next tick. */
  #isRung = true;
  #isClosed = false;

  constructor(options: TickerOptions) {
    this.#options = options;
    this.#report = reportTo(options.tell);
    this.#sweeps = setInterval(() => void this.#sweep(), sweepMs);
    this.#sweeps.unref();
  }

  /** Makes the first tick happen. From then on one follows each suspension of the machine. */
  begin(): void {
    if (this.#isClosed) return;
    this.#stopWatching = watchSuspends(hostClock, this.lookAhead);
    this.ring();
  }

  /** Resolves when a tick that began after this call has ended; rejects if it failed. Another one is to come then. */
  async tick(readyUntil = 0, { isRung = false } = {}): Promise<TickAnswer> {
    this.#readyUntil = Math.max(this.#readyUntil, readyUntil);
    this.#isRung &&= isRung;
    this.#rings += 1;
    return await this.#tickNext();
  }

  /** Makes a tick happen, and reports if it fails. */
  readonly ring = (): void => {
    this.tick().catch((error: unknown) => {
      if (!this.#isClosed) this.#report(error, "ticking");
    });
  };

  /** Starts a tick that also looks for what another process was to dispatch soon. That process is dead or has ended. */
  readonly lookAhead = (): void => {
    this.#looksAhead = true;
    this.ring();
  };

  /**
   * Notes whether the database let this process claim turns. If not, a tick looks for all of them again.
   *
   * @param failure why the call failed. Left out: it did not, and the database belongs to another environment
   */
  noteClaims(couldClaim: boolean, failure?: unknown): void {
    if (couldClaim) {
      this.#failedClaims = 0;
      return;
    }
    this.#looksAhead = true;
    if (this.#retry !== undefined) return;
    this.#tickLater(this.#failedClaims, longestPauseOf(failure));
    this.#failedClaims += 1;
  }

  /** Begins no more ticks; resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatching();
    clearInterval(this.#sweeps);
    clearTimeout(this.#retry);
    await this.#last;
  }

  /** However many ask while a tick is under way, one more follows it. */
  #tickNext(): Promise<TickAnswer> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      const ticking = this.#tick();
      this.#last = ticking.catch(() => {});
      return ticking;
    });
    return this.#next;
  }

  async #tick(): Promise<TickAnswer> {
    if (this.#isClosed) throw closing();
    const which = {
      isFirst: this.#isFirst,
      looksAhead: this.#looksAhead,
      readyUntil: this.#readyUntil,
      isRung: this.#isRung,
    };
    this.#looksAhead = false;
    this.#readyUntil = 0;
    this.#isRung = true;
    try {
      const answer = await this.#options.tick(which);
      if (answer.isOurs) this.#isFirst = false;
      this.#failures = 0;
      return answer;
    } catch (error) {
      this.#looksAhead = true;
      this.#tickLater(this.#failures, longestPauseOf(error));
      this.#failures += 1;
      throw error;
    }
  }

  /**
   * Ticks again after 1, 2, 4 … seconds. Each pause is a little shorter than that by chance, so that many processes do
   * not come back in the same moment.
   */
  #tickLater(failures: number, longestMs: number): void {
    if (this.#isClosed) return;
    const { random = Math.random } = this.#options;
    const pauseMs = Math.min(firstPauseMs * 2 ** failures, longestMs) * (1 - random() / 2);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.ring();
    }, pauseMs);
    this.#retry.unref();
  }

  async #sweep(): Promise<void> {
    const isAwaited = this.#next !== undefined;
    this.#isRung = false;
    const ringsBefore = this.#rings;
    try {
      const { due } = await this.#tickNext();
      if (due > 0 && !isAwaited && this.#rings === ringsBefore)
        this.#options.tell(sweepFound(due, { hasNeighbours: true }));
    } catch (error) {
      if (!this.#isClosed) this.#report(error, "sweeping");
    }
  }
}

function longestPauseOf(failure: unknown): number {
  return failure !== undefined && isLostConnection(failure) ? longestPauseMs.lost : longestPauseMs.answered;
}

/** Whether the failure passes by itself: no answer came, or the server is starting, stopping or out of room. */
function isLostConnection(error: unknown): boolean {
  return !(error instanceof QueryError) || error.sqlState === undefined || /^(08|53|57)/.test(error.sqlState);
}
