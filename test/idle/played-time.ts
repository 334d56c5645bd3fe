/**
 * Time that passes only when nothing else is left to happen, so an hour takes a moment. A platform that is played lives on
 * it, and the clock of its database is turned to it with each statement. Postgres alone is real.
 */
import type { Query } from "layover";
import { pause } from "../../src/core/waits.ts";
import { SkewedTimers } from "../engine/timers.ts";
import type { Clock } from "../postgres/clock.ts";

export interface PlayedTimeOptions {
  readonly query: Query;
  /** Clock of the same database, which is set to the clock that is played. */
  readonly clock: Clock;
  /** Is told the name of each SQL function that is called. */
  readonly onStatement: (name: string) => void;
}

/** How long an answer of the database is under way. */
const statementMs = 20;
/** Instant at which the clock begins: amid a minute. */
export const beginning = Date.UTC(2026, 0, 1, 12, 0, 7);

export class PlayedTime {
  readonly host = new SkewedTimers({ time: () => this.#time, beginning });
  readonly query: Query;
  readonly #options: PlayedTimeOptions;
  /** Milliseconds since the beginning. */
  #time = 0;
  /** How many calls are under way whose answer no timer brings. */
  #underWay = 0;
  #turned: { readonly to: number; readonly isDone: Promise<void> } | undefined;

  constructor(options: PlayedTimeOptions) {
    this.#options = options;
    this.query = Object.assign((...call: Parameters<Query>) => this.#query(...call), {
      endpoint: options.query.endpoint,
    });
  }

  now(): number {
    return this.host.now();
  }

  /** Lets everything happen that happens until this instant. */
  async passUntil(instant: number): Promise<void> {
    for (;;) {
      await this.#rest();
      const { next } = this.host;
      if (next === undefined || beginning + next > instant) break;
      this.#time = Math.max(this.#time, next);
      while (this.host.fire());
    }
    this.#time = instant - beginning;
  }

  /** Does work whose end no timer brings. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Resolves when everybody waits for a timer, or for nothing. */
  async #rest(): Promise<void> {
    for (let rounds = 0; rounds < 3; rounds = this.#underWay === 0 ? rounds + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve));
  }

  async #query(...call: Parameters<Query>): ReturnType<Query> {
    const [text] = call;
    this.#options.onStatement(/layover\.(\w+)/.exec(text)?.[1] ?? text);
    this.#underWay += 1;
    try {
      await this.#turnClock();
      return await this.#options.query(...call);
    } finally {
      const answered = pause(this.host, statementMs);
      this.#underWay -= 1;
      await answered;
    }
  }

  async #turnClock(): Promise<void> {
    const to = this.now();
    if (this.#turned?.to !== to) this.#turned = { to, isDone: this.#options.clock.set(to) };
    await this.#turned.isDone;
  }
}
