/** How dispatches become invocations: at least once or at most, in any order, late, and again where one failed. */
import { groupSizeOf, isSuspect } from "../../../src/core/groups.ts";
import type { Dispatch, TurnRef } from "../../../src/core/ports.ts";
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import { describeTurn, type Process } from "../../engine/process.ts";
import type { Ground } from "./outside.ts";

export interface DeliveryRules {
  /** How many turns one invocation takes. Null: those that were dispatched together. */
  readonly batch: number | null;
  /** How many in a hundred come twice, how many come late, and by how much at most. */
  readonly twice: number;
  readonly late: number;
  readonly lateMs: number;
  /**
   * Milliseconds after which a delivery comes again that failed, or whose process died, one for each try. After the
   * last try it is a dead letter.
   */
  readonly againMs: readonly number[];
  /** Called with a process that could not carry out what was delivered to it. */
  readonly onFailed?: (process: Process) => void;
}

interface Message {
  readonly turns: readonly TurnRef[];
  readonly at: number;
  readonly tries: number;
}

export class Deliveries implements Source {
  readonly #rules: DeliveryRules;
  readonly #ground: Ground;
  #messages: Message[] = [];
  readonly #underWay = new Map<Message, Process>();
  deadLetters = 0;

  constructor(rules: DeliveryRules, ground: Ground) {
    this.#rules = rules;
    this.#ground = ground;
  }

  readonly dispatch: Dispatch = async (turns, delayMs) => {
    const { batch } = this.#rules;
    const at = Math.ceil(this.#ground.now() + delayMs);
    const parts = batch === null ? [turns] : turns.map((turn) => [turn]);
    for (const part of parts) this.#send({ turns: part, at, tries: 0 });
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    return this.#messages
      .filter(({ at }) => at <= now)
      .flatMap((message) => {
        const takers = this.#ground.processes().filter((process) => process.takes(message.turns));
        if (takers.length === 0) return [];
        return [{ what: () => describe(message), act: () => this.#deliver(message, takers) }];
      });
  }

  next(): number | undefined {
    const now = this.#ground.now();
    const at = earliest(this.#messages.map((message) => (message.at > now ? message.at : undefined)));
    return at === undefined ? undefined : this.#ground.timeOf(at);
  }

  lose(process: Mortal): void {
    for (const [message, owner] of this.#underWay) {
      if (owner !== process) continue;
      this.#underWay.delete(message);
      this.#again(message);
    }
  }

  #send(message: Message): void {
    const { twice, late, lateMs } = this.#rules;
    const { below } = this.#ground;
    this.#messages.push(below(100) < late ? { ...message, at: message.at + below(lateMs) } : message);
    if (below(100) < twice) this.#messages.push({ ...message, at: message.at + below(lateMs) });
  }

  #deliver(message: Message, takers: readonly Process[]): void {
    const process = takers[this.#ground.below(takers.length)];
    if (process === undefined) return;
    const taken = this.#take(message);
    this.#messages = this.#messages.filter((other) => !taken.includes(other));
    for (const each of taken) this.#underWay.set(each, process);
    const turns = taken.flatMap((each) => each.turns);
    void process.carryOut(turns).then((couldClaim) => {
      if (!couldClaim) this.#rules.onFailed?.(process);
      for (const each of taken) {
        this.#underWay.delete(each);
        if (!couldClaim) this.#again(each);
      }
    });
  }

  /**
   * Answers the message and as many others that are due as one invocation takes. Turns that go in small groups go only
   * with their own kind.
   */
  #take(message: Message): readonly Message[] {
    const size = sizeOf(message);
    const most = Math.min(this.#rules.batch ?? 1, size ?? Number.POSITIVE_INFINITY);
    const now = this.#ground.now();
    const others = this.#messages.filter((other) => other !== message && other.at <= now && sizeOf(other) === size);
    return [message, ...others.slice(0, most - 1)];
  }

  #again(message: Message): void {
    const pauseMs = this.#rules.againMs[message.tries];
    if (pauseMs === undefined) {
      this.deadLetters += 1;
      return;
    }
    this.#messages.push({ ...message, at: this.#ground.now() + pauseMs, tries: message.tries + 1 });
  }
}

function sizeOf({ turns }: Message): number | undefined {
  const [suspect] = turns.filter(isSuspect);
  return suspect && groupSizeOf(suspect);
}

function describe({ turns }: Message): string {
  return `delivers ${turns.map((turn) => `${describeTurn(turn)} of ${turn.runId}`).join(", ")}`;
}
