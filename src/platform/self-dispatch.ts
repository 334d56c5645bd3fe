/**
 * Dispatch by requests to oneself: what is dispatched in the same moment goes together, so many turns a request. Whoever
 * is asked answers when it has carried them out, so whoever asks waits: until then both requests live.
 *
 * Nothing here is certain to arrive. What is lost, refused or left out, the scheduler finds within two minutes.
 */
import type { TurnRef } from "../core/ports.ts";
import { hostClock, pause } from "../postgres/clock.ts";

export interface SelfDispatchOptions {
  /** Resolves when the turns were carried out. */
  readonly send: (turns: readonly TurnRef[]) => Promise<void>;
  /** How many turns a request carries, or more where the requests of one moment would be more than `mostRequests`. */
  readonly batch: number;
  readonly mostRequests: number;
  /** How many requests of one moment may be under way. */
  readonly concurrency: number;
  /** Of this request's end: it is not to be before this promise's. */
  readonly hold?: ((sent: Promise<void>) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** A longer wait is the scheduler's: until then the request that waits would be open. */
const longestPauseMs = 10_000;

export class SelfDispatch {
  readonly #options: SelfDispatchOptions;
  readonly #underWay = new Set<Promise<void>>();
  #collected: TurnRef[] = [];
  #isCollecting = false;

  constructor(options: SelfDispatchOptions) {
    this.#options = options;
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (delayMs > longestPauseMs) return;
    if (delayMs > 0) return this.#track(pause(hostClock, delayMs).then(() => this.#collect(turns)));
    this.#collect(turns);
  };

  /** Makes one moment of `work`: what is dispatched meanwhile goes out when it has ended. */
  async together(work: () => Promise<void>): Promise<void> {
    this.#isCollecting = true;
    try {
      await work();
    } finally {
      this.#isCollecting = false;
      if (this.#collected.length > 0) this.#track(this.#flush());
    }
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #collect(turns: readonly TurnRef[]): void {
    if (this.#collected.length === 0 && !this.#isCollecting) this.#track(this.#flush());
    this.#collected.push(...turns);
  }

  async #flush(): Promise<void> {
    await pause(hostClock, 0);
    const requests = split(this.#collected, this.#options).values();
    this.#collected = [];
    const lane = async (): Promise<void> => {
      for (const turns of requests) await this.#send(turns);
    };
    await Promise.all(Array.from({ length: this.#options.concurrency }, lane));
  }

  async #send(turns: readonly TurnRef[]): Promise<void> {
    try {
      await this.#options.send(turns);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #track(work: Promise<void>): void {
    const sent = work.finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
    this.#options.hold?.(sent);
  }
}

/** What was claimed before and never finished goes alone: it may have killed its isolate. */
function split(
  turns: readonly TurnRef[],
  { batch, mostRequests }: SelfDispatchOptions,
): readonly (readonly TurnRef[])[] {
  const together = turns.filter(({ alone }) => !alone);
  const size = Math.max(batch, Math.ceil(together.length / mostRequests));
  const batches = Array.from({ length: Math.ceil(together.length / size) }, (_, index) =>
    together.slice(index * size, (index + 1) * size),
  );
  return [...batches, ...turns.filter(({ alone }) => alone).map((turn) => [turn])];
}
