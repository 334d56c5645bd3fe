/** How long a body may take: until its own timeout, and not much longer than its run's timeout or cancel. */
import type { HostClock } from "../../core/ports.ts";

/** The run's timeout, which ends a body before its time. */
export interface RunEnd {
  /** The instant, in the database's time. */
  readonly at: number;
  /** The reason that the body's abort signal gives. */
  readonly reason: () => Error;
  /**
   * Asks for the timeout anew, since a pause puts it off. Null: the run is paused. Undefined: the database does not tell.
   */
  readonly ask: () => Promise<number | null | undefined>;
}

interface Limits {
  readonly timeoutMs: number;
  readonly runEnd: RunEnd | undefined;
  readonly host: HostClock;
  /** The database's time. */
  readonly now: () => number;
  /** Is told that the body has taken as long as its timeout. */
  readonly onTimeout: () => void;
  /** Is told that the body is to end, since its run does. */
  readonly onRunEnd: (reason: Error) => void;
  /** Is told that the body has not ended some time after that. */
  readonly onGraceOver: () => void;
}

/** How long a body may go on after its run's timeout or cancel, at most. */
const longestGraceMs = 60_000;
/** How long the answer to a question for the timeout is waited for, and how soon it is asked again while the run is paused. */
const askMs = 10_000;

export class BodyLimits {
  readonly #limits: Limits;
  readonly #beganAt: number;
  /** Whether the body has ended, or is to end. */
  #isOver = false;
  #cancelTimer = () => {};

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#beganAt = limits.host.monotonic();
    this.#await(limits.runEnd?.at);
  }

  /** Tells the body that its run ends, and gives it some time. */
  endSoon(reason: Error): void {
    if (this.#isOver) return;
    const { onRunEnd, onGraceOver } = this.#limits;
    this.#isOver = true;
    onRunEnd(reason);
    this.#after(Math.min(this.#leftMs, longestGraceMs), onGraceOver);
  }

  /** Stops watching a body that has ended. */
  stop(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }

  get #leftMs(): number {
    const { timeoutMs, host } = this.#limits;
    return Math.max(0, timeoutMs - (host.monotonic() - this.#beganAt));
  }

  #after(ms: number, listener: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#limits.host.after(ms, listener);
  }

  /** Waits for the run's end, or for the body's own timeout where that comes first. */
  #await(runEndsAt: number | undefined): void {
    const { now, runEnd, onTimeout } = this.#limits;
    const untilRunEnd = runEndsAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, runEndsAt - now());
    if (runEnd === undefined || untilRunEnd >= this.#leftMs) this.#after(this.#leftMs, onTimeout);
    else this.#after(untilRunEnd, () => this.#ask(runEnd));
  }

  /** Asks whether the run's timeout stands. Without an answer it does. */
  #ask({ ask, reason }: RunEnd): void {
    const { now } = this.#limits;
    let isOpen = true;
    const decide = (at: number | null | undefined) => {
      if (!isOpen || this.#isOver) return;
      isOpen = false;
      if (at === null) this.#await(now() + askMs);
      else if (at !== undefined && at > now()) this.#await(at);
      else this.endSoon(reason());
    };
    this.#after(Math.min(askMs, this.#leftMs), () => decide(undefined));
    ask().then(decide, () => decide(undefined));
  }
}
