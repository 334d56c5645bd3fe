/** How dispatches become invocations in processes that live on: at most once, in any order, several together. */
import { groupSizeOf, isSuspect } from "../../../src/core/groups.ts";
import type { Dispatch, TurnRef } from "../../../src/core/ports.ts";
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import { describeTurn, type Process } from "../../engine/process.ts";
import type { Ground } from "./outside.ts";

interface Message {
  readonly turn: TurnRef;
  readonly at: number;
}

/** How many turns one invocation takes. */
const batch = 100;

export class Deliveries implements Source {
  readonly #ground: Ground;
  readonly #onFailed: () => void;
  #messages: Message[] = [];

  /** `onFailed`: is called when a process could not carry out what was delivered to it. */
  constructor(ground: Ground, onFailed: () => void) {
    this.#ground = ground;
    this.#onFailed = onFailed;
  }

  readonly dispatch: Dispatch = async (turns, delayMs) => {
    const at = Math.ceil(this.#ground.now() + delayMs);
    this.#messages.push(...turns.map((turn) => ({ turn, at })));
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    return this.#messages
      .filter(({ at }) => at <= now)
      .flatMap((message) => {
        const takers = this.#ground.processes().filter((process) => process.takes([message.turn]));
        if (takers.length === 0) return [];
        const what = () => `delivers ${describeTurn(message.turn)} of ${message.turn.runId}`;
        return [{ what, act: () => this.#deliver(message, takers) }];
      });
  }

  next(): number | undefined {
    const now = this.#ground.now();
    const at = earliest(this.#messages.map((message) => (message.at > now ? message.at : undefined)));
    return at === undefined ? undefined : this.#ground.timeOf(at);
  }

  /** The process died, and what was dispatched with it. */
  lose(): void {
    this.#messages = [];
  }

  #deliver(message: Message, takers: readonly Process[]): void {
    const process = takers[this.#ground.below(takers.length)];
    if (process === undefined) return;
    const taken = this.#take(message);
    this.#messages = this.#messages.filter((other) => !taken.includes(other));
    void process.carryOut(taken.map(({ turn }) => turn)).then((couldClaim) => {
      if (!couldClaim) this.#onFailed();
    });
  }

  /**
   * Answers the message and as many others that are due as one invocation takes. Turns that go in small groups go only
   * with their own kind.
   */
  #take(message: Message): readonly Message[] {
    const size = sizeOf(message);
    const most = Math.min(batch, size ?? batch);
    const now = this.#ground.now();
    const others = this.#messages.filter((other) => other !== message && other.at <= now && sizeOf(other) === size);
    return [message, ...others.slice(0, most - 1)];
  }
}

function sizeOf({ turn }: Message): number | undefined {
  return isSuspect(turn) ? groupSizeOf(turn) : undefined;
}
