/**
 * The rests of a process between its invocations. A host may freeze it meanwhile, for seconds or hours. Clocks may stand
 * still, and connections may die without a word. So each invocation looks first how long the process was away.
 */
import { type Query, QueryError, type Parameter as SqlParameter, type WallClock } from "../../core/ports.ts";
import { within } from "../../core/waits.ts";

/** How far the two clocks may part in a rest. */
const driftMs = 1_000;

/** How long a process may rest before its first statement may be lost, and is given up soon. */
const longAwayMs = 5_000;

/** How long that statement may take. It is sent again, by another connection. */
const firstMs = 2_000;

export interface Rest {
  /** Whether the process was away for so long that the time and the connections may have changed. */
  readonly isLong: boolean;
  /** Whether the clocks disagree about it, so that one of them stood still or was set. */
  readonly isOff: boolean;
}

export class Rests {
  readonly #host: WallClock;
  #seen: { readonly now: number; readonly monotonic: number } | undefined;
  #isFirst = false;

  constructor(host: WallClock) {
    this.#host = host;
  }

  /** Ends a rest. Undefined: the process has just begun. */
  end(): Rest | undefined {
    const before = this.#seen;
    const { now, monotonic } = this.#note();
    if (before === undefined) return undefined;
    const awayMs = now - before.now;
    const isOff = Math.abs(awayMs - (monotonic - before.monotonic)) > driftMs;
    this.#isFirst = isOff || awayMs > longAwayMs;
    return { isLong: this.#isFirst, isOff };
  }

  /** Begins a rest. Answers the time by the host's clock. */
  begin(): number {
    return this.#note().now;
  }

  /** Gives up the first statement after a long rest early, since its connection may be dead. */
  impatient(query: Query): Query {
    const send = (text: string, values?: readonly SqlParameter[]) => {
      if (!this.#isFirst) return query(text, values);
      this.#isFirst = false;
      return within(this.#host, firstMs, query(text, values), noAnswer);
    };
    const { endpoint, transact, sealing } = query;
    return Object.assign(send, { endpoint, transact, sealing });
  }

  #note() {
    this.#seen = { now: this.#host.now(), monotonic: this.#host.monotonic() };
    return this.#seen;
  }
}

function noAnswer(): QueryError {
  return new QueryError("the database did not answer the first statement of this process in time", {
    isRolledBack: false,
  });
}
