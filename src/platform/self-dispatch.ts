/**
 * Dispatch by requests to oneself: what is dispatched in the same moment goes together, so many turns a request. Whoever
 * is asked answers when it has carried them out, so whoever asks waits: until then both requests live.
 *
 * Where a moment's requests are more than may be open at a time, those that queue would wait for all that follows from
 * those before them. So then each carries out its turns and goes no further.
 *
 * Nothing here is certain to arrive. What is lost, refused or left out, the scheduler finds within two minutes.
 */
import type { TurnRef } from "../core/ports.ts";
import { hostClock, pause } from "../postgres/clock.ts";

export interface SelfDispatchOptions {
  /** Resolves when the turns were carried out. `goesOn`: and what follows from them, until a platform's limit. */
  readonly send: (turns: readonly TurnRef[], goesOn: boolean) => Promise<void>;
  /** How many turns a request carries, or more where the requests would be more than `mostRequests`. */
  readonly batch: number;
  /** In all. A third of them at most carries a turn that goes alone. */
  readonly mostRequests: number;
  /** How many requests of one moment may be under way. */
  readonly concurrency: number;
  /** By when a request must be sent, in epoch milliseconds of the host's. */
  readonly until: () => number;
  /** Of this request's end: it is not to be before this promise's. */
  readonly hold?: ((sent: Promise<void>) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** A longer wait is the scheduler's: until then the request that waits would be open. */
const longestPauseMs = 10_000;

/** That one request carries, which reads a body of 64 KiB (see http/internal.ts). */
const mostTurns = 200;

export class SelfDispatch {
  readonly #options: SelfDispatchOptions;
  readonly #underWay = new Set<Promise<void>>();
  #requestsLeft: number;
  #collected: TurnRef[] = [];
  #isCollecting = false;

  constructor(options: SelfDispatchOptions) {
    this.#options = options;
    this.#requestsLeft = options.mostRequests;
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (delayMs > longestPauseMs || this.#isTooLate(delayMs)) return;
    if (delayMs > 0) return this.#track(pause(hostClock, delayMs).then(() => this.#collect(turns)));
    this.#collect(turns);
  };

  /** Makes one moment of `work`: what is dispatched meanwhile goes out when it has ended. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isCollecting = true;
    try {
      return await work();
    } finally {
      this.#isCollecting = false;
      if (this.#collected.length > 0) this.#track(this.#flush());
    }
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #isTooLate(delayMs: number): boolean {
    return Date.now() + delayMs >= this.#options.until();
  }

  #collect(turns: readonly TurnRef[]): void {
    if (this.#collected.length === 0 && !this.#isCollecting) this.#track(this.#flush());
    this.#collected.push(...turns);
  }

  async #flush(): Promise<void> {
    await pause(hostClock, 0);
    const requests = this.#split(this.#collected);
    this.#collected = [];
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
    if (this.#isTooLate(0)) return;
    try {
      await this.#options.send(turns, goesOn);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #track(work: Promise<void>): void {
    const sent = work.finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
    this.#options.hold?.(sent);
  }

  /**
   * What was claimed before and never finished goes alone: it may have killed its isolate. What is beyond the limits is
   * left out here, though the scheduler may have counted it as dispatched; it asks for no more than there is room for.
   */
  #split(turns: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
    const { batch, mostRequests } = this.#options;
    const mostAlone = Math.min(Math.ceil(mostRequests / 3), this.#requestsLeft);
    const alone = turns.filter((turn) => turn.alone).slice(0, mostAlone);
    const together = turns.filter((turn) => !turn.alone);
    const room = this.#requestsLeft - alone.length;
    const size = Math.min(Math.max(batch, Math.ceil(together.length / Math.max(room, 1))), mostTurns);
    const batches = Array.from({ length: Math.min(room, Math.ceil(together.length / size)) }, (_, index) =>
      together.slice(index * size, (index + 1) * size),
    );
    return [...batches, ...alone.map((turn) => [turn])];
  }
}
