/**
 * Rings at other deployments on the same database, on another host perhaps, that carry what this one does not. Whoever makes
 * a run ready has armed an alarm of its own host for it, and that host may not have the run's code. So this deployment asks
 * one that does for a tick: at once, when a claim says that the run is not for it, and once more when its own alarm
 * rings and the run is still due. That tick takes the run over: it moves the due instant to one for which it has armed itself.
 *
 * While a ring is under way, further runs for the same deployment wait for the next ring. So a thousand runs are a few rings.
 */

import { LayoverError } from "../core/errors.ts";
import type { HostClock } from "../core/ports.ts";
import { within } from "../core/waits.ts";
import type { EngineOptions } from "./options.ts";

export interface CarriersOptions extends Pick<EngineOptions, "ringAt" | "deployment"> {
  readonly host: HostClock;
  readonly report: (error: unknown, doing: string) => void;
}

interface Ringing {
  readonly ended: Promise<boolean>;
  /** The ring after this one, and until when it is to look. */
  next?: Promise<boolean>;
  nextUntil?: number;
}

/** How long a deployment may take to answer: its tick may find much. */
const answerMs = 20_000;

export class Carriers {
  readonly #options: CarriersOptions;
  readonly #ringing = new Map<string, Ringing>();

  constructor(options: CarriersOptions) {
    this.#options = options;
  }

  /** Rings at all of them. Answers whether each has ticked well since. What fails is reported. */
  async ring(addresses: readonly string[], readyUntil: number): Promise<boolean> {
    const { ringAt, deployment } = this.#options;
    if (ringAt === undefined) return true;
    const others = new Set(addresses.filter((address) => address !== deployment?.wakeAddress));
    const answers = await Promise.all([...others].map((address) => this.#ring(address, readyUntil)));
    return !answers.includes(false);
  }

  #ring(address: string, readyUntil: number): Promise<boolean> {
    const current = this.#ringing.get(address);
    if (current === undefined) return this.#begin(address, readyUntil);
    current.nextUntil = Math.max(current.nextUntil ?? 0, readyUntil);
    current.next ??= current.ended.then(() => this.#begin(address, current.nextUntil ?? readyUntil));
    return current.next;
  }

  #begin(address: string, readyUntil: number): Promise<boolean> {
    const ended = this.#send(address, readyUntil);
    const ringing: Ringing = { ended };
    this.#ringing.set(address, ringing);
    void ended.then(() => {
      if (this.#ringing.get(address) === ringing && ringing.next === undefined) this.#ringing.delete(address);
    });
    return ended;
  }

  async #send(address: string, readyUntil: number): Promise<boolean> {
    const { ringAt, host, report } = this.#options;
    try {
      if (ringAt !== undefined) await within(host, answerMs, ringAt(address, readyUntil), () => noAnswer(address));
      return true;
    } catch (error) {
      report(error, `ringing at ${address}`);
      return false;
    }
  }
}

function noAnswer(address: string): LayoverError {
  return new LayoverError(
    "no_answer",
    `the deployment at ${address} has not answered within ${answerMs / 1_000} seconds`,
    {
      hint: "It is rung again within minutes, and later every ten minutes. See that it is up, and can be reached from here.",
    },
  );
}
