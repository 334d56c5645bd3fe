/** Carries out turns and ticks for one deployment. Whoever hosts it brings the ports. */
import type { TurnRef } from "../core/ports.ts";
import { guardHooks } from "./hooks.ts";
import { type Crew, carryOut } from "./invocation.ts";
import { defaults, type EngineOptions } from "./options.ts";
import { Registry } from "./registry.ts";
import { type TickAnswer, type TickOptions, tick } from "./tick.ts";
import { Warm } from "./warm.ts";

export class Engine {
  readonly #crew: Crew;

  constructor(given: EngineOptions) {
    const options = guardHooks(given);
    this.#crew = {
      options,
      registry: new Registry(options.workflows),
      warm: new Warm(options.warmRuns ?? defaults.warmRuns),
      isClosing: false,
    };
  }

  /** From now on a turn under way is the last of its run here. */
  close(): void {
    this.#crew.isClosing = true;
  }

  /**
   * One invocation. Never rejects: what fails is reported, and carried out again by whoever claims next. False: it could
   * claim none of them, as the database failed or does not know this environment. Nobody counted that as a try.
   */
  carryOut(turns: readonly TurnRef[]): Promise<boolean> {
    return carryOut(this.#crew, turns);
  }

  /**
   * One pass of the scheduler. Whatever comes of it, an alarm stands for the next one.
   */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    try {
      return await tick(this.#crew, options);
    } catch (error) {
      const { calls } = this.#crew.options;
      if (calls.clock.isKnown) await calls.alarms.arm([calls.clock.now() + 60_000]);
      throw error;
    }
  }
}
