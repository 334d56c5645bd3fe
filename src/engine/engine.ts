/** Carries out turns and ticks for one deployment. Whoever hosts it brings the ports. */
import type { TurnRef } from "../core/ports.ts";
import { hostClock } from "../postgres/clock.ts";
import { guardHooks } from "./hooks.ts";
import { type Crew, carryOut } from "./invocation.ts";
import { checkLeaseMs, defaults, type EngineOptions } from "./options.ts";
import { Registry } from "./registry.ts";
import { type TickAnswer, type TickOptions, tick } from "./tick.ts";
import { TimeLimit } from "./time-limit.ts";
import { Warm } from "./warm.ts";

/** How long a tick may go on without having done a page. Then it counts as failed. */
const tickMs = 60_000;

export class Engine {
  readonly #crew: Crew;
  readonly #closing = new AbortController();

  constructor(given: EngineOptions) {
    const options = guardHooks(given);
    checkLeaseMs(options.leaseMs);
    this.#crew = {
      options,
      registry: new Registry(options.workflows),
      warm: new Warm(options.warmRuns ?? defaults.warmRuns, options.warmBytes ?? defaults.warmBytes),
      isClosing: false,
    };
  }

  /** From now on a turn under way is the last of its run here. A tick under way is given up: the next process does it. */
  close(): void {
    this.#crew.isClosing = true;
    this.#closing.abort(new Error("this process is closing"));
  }

  /**
   * One invocation. Never rejects: what fails is reported, and carried out again by whoever claims next. False: it could
   * claim none of them, as the database failed or does not know this environment. Nobody counted that as a try.
   *
   * @param onEnd is told of each turn that has ended
   */
  carryOut(turns: readonly TurnRef[], onEnd?: () => void): Promise<boolean> {
    return carryOut(this.#crew, turns, onEnd);
  }

  /**
   * One pass of the scheduler. Whatever comes of it, an alarm stands for the next one.
   *
   * @throws LayoverError `no_answer`, if it gets no further within a minute
   */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    const { calls, host = hostClock } = this.#crew.options;
    const abortSignal = this.#closing.signal;
    try {
      return await tick(this.#crew, new TimeLimit({ host, ms: tickMs, what: "a tick", abortSignal }), options);
    } catch (error) {
      if (calls.clock.isKnown && !abortSignal.aborted) await calls.alarms.arm([calls.clock.now() + 60_000]);
      throw error;
    }
  }
}
