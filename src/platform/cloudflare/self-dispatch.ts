/**
 * Dispatches by requests of the Worker to itself. Turns of the same moment go together, many in a request. The Worker
 * answers a request when it has carried out the turns. The one who asked waits until then, so both requests stay open.
 *
 * If a moment has more requests than may be open at a time, the queued ones would wait for everything that follows from
 * those before them. So in that case each request carries out its own turns and goes no further.
 *
 * Not every dispatch arrives. What is lost, refused or left out is found by the scheduler. It looks again at turns that
 * it has counted as dispatched after 1, 2, 4 … minutes, up to 6 hours; within two minutes if it learns in time that
 * nobody was told. A new deployment is noted to have looked at all runs only when everything was carried: its caller
 * asks for that ({@link SelfDispatch.isWhole}).
 */
import { groupsOf, isSuspect } from "../../core/groups.ts";
import type { TurnRef, WallClock } from "../../core/ports.ts";
import { utf8Size } from "../../core/utf8-size.ts";
import { pause } from "../../core/waits.ts";
import { Moment } from "../invocation/moment.ts";
import { UnderWay } from "../invocation/under-way.ts";

export interface SelfDispatchOptions {
  /** Resolves when the turns were carried out. `goesOn`: and what follows from them, until a platform's limit. */
  readonly send: (turns: readonly TurnRef[], goesOn: boolean) => Promise<void>;
  /** How many turns a request carries, or more where the requests would be more than `mostRequests`. */
  readonly batch: number;
  /** How long a request's turns may be as JSON, in bytes. One that is longer by itself goes alone, to be refused. */
  readonly mostBytes: number;
  /** The most requests in all. At most a third of them carry a group of turns that may have ended their process. */
  readonly mostRequests: number;
  /** How many requests of one moment may be under way. */
  readonly concurrency: number;
  /** The instant by which a request must be sent, in epoch milliseconds of the host's clock. */
  readonly until: () => number;
  /** Keeps this request from ending before the promise does. */
  readonly keepAlive?: ((sent: Promise<void>) => void) | undefined;
  readonly onError: (error: unknown) => void;
  readonly host: WallClock;
}

/** The longest wait within a request, which stays open meanwhile. After a longer one the scheduler dispatches. */
const longestPauseMs = 10_000;

/** The most turns that one request carries, however short they are. */
const mostTurns = 200;

export class SelfDispatch {
  readonly #options: SelfDispatchOptions;
  readonly #underWay: UnderWay;
  readonly #moment: Moment<TurnRef>;
  #requestsLeft: number;
  #isWhole = true;

  constructor(options: SelfDispatchOptions) {
    this.#options = options;
    this.#underWay = new UnderWay(options.keepAlive);
    this.#requestsLeft = options.mostRequests;
    const { host } = options;
    this.#moment = new Moment({ host, underWay: this.#underWay, send: (turns) => this.#sendAll(turns) });
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (delayMs > longestPauseMs) return;
    if (this.#isTooLate(delayMs)) return this.#lose();
    if (delayMs > 0) return this.#underWay.add(pause(this.#options.host, delayMs).then(() => this.#moment.add(turns)));
    this.#moment.add(turns);
  };

  /**
   * Whether each turn was carried by a request that was answered well, as far as they are {@link settled}. A wait that is
   * the scheduler's does not count: its run has a due instant.
   */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Makes one moment of `work`: what is dispatched meanwhile goes out when it has ended. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#moment.together(work);
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#underWay.settled();
  }

  #lose(): void {
    this.#isWhole = false;
  }

  #isTooLate(delayMs: number): boolean {
    const { host, until } = this.#options;
    return host.now() + delayMs >= until();
  }

  async #sendAll(turns: readonly TurnRef[]): Promise<void> {
    const requests = this.#split(turns);
    this.#requestsLeft -= requests.length;
    const { concurrency } = this.#options;
    const goesOn = requests.length <= concurrency;
    const queue = requests.values();
    const lane = async (): Promise<void> => {
      for (const turns of queue) await this.#send(turns, goesOn);
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
  }

  async #send(turns: readonly TurnRef[], goesOn: boolean): Promise<void> {
    if (this.#isTooLate(0)) return this.#lose();
    try {
      await this.#options.send(turns, goesOn);
    } catch (error) {
      this.#lose();
      this.#options.onError(error);
    }
  }

  /**
   * Splits turns into requests. A turn that may have ended its isolate goes in a request with its group. What is beyond
   * the limits is left out here, even if the scheduler has counted it as dispatched. The scheduler asks for no more
   * than these requests can carry.
   */
  #split(turns: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
    const { batch, mostBytes, mostRequests } = this.#options;
    const mostGroups = Math.min(Math.ceil(mostRequests / 3), this.#requestsLeft);
    const groups = groupsOf(turns.filter(isSuspect))
      .flatMap((group) => within(mostBytes, group))
      .slice(0, mostGroups);
    let together = turns.filter((turn) => !isSuspect(turn));
    const batches: TurnRef[][] = [];
    for (let left = this.#requestsLeft - groups.length; left > 0 && together.length > 0; left -= 1) {
      const size = Math.min(Math.max(batch, Math.ceil(together.length / left)), mostTurns);
      const next = together.slice(0, countWithin(mostBytes, together.slice(0, size)));
      batches.push(next);
      together = together.slice(next.length);
    }
    const requests = [...batches, ...groups];
    if (requests.flat().length < turns.length) this.#lose();
    return requests;
  }
}

/** Splits a group into as many pieces as its bytes need. */
function within(mostBytes: number, group: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
  const count = countWithin(mostBytes, group);
  return count === group.length ? [group] : [group.slice(0, count), ...within(mostBytes, group.slice(count))];
}

/** How many of the first `turns` fit within so many bytes together: one at least. */
function countWithin(mostBytes: number, turns: readonly TurnRef[]): number {
  let bytes = 0;
  const beyond = turns.findIndex((turn) => {
    bytes += bytesOf(turn);
    return bytes > mostBytes;
  });
  return beyond === -1 ? turns.length : Math.max(1, beyond);
}

/** Counts the bytes of a turn as an item of a list. */
function bytesOf(turn: TurnRef): number {
  return utf8Size(JSON.stringify(turn)) + 1;
}
