/** Carries out turns and ticks for one deployment. Whoever hosts it brings the ports. */
import type { TurnRef } from "../core/ports.ts";
import { hostClock, pause } from "../postgres/clock.ts";
import { limited } from "../postgres/dispatch-limit.ts";
import { Bodies } from "./bodies.ts";
import type { Crew } from "./crew.ts";
import { reportTo } from "./events.ts";
import { Gate } from "./gate.ts";
import { guardHooks } from "./hooks.ts";
import { carryOut } from "./invocation.ts";
import { KeptFinishes } from "./kept-finishes.ts";
import { checkLeaseMs, defaults, type EngineOptions } from "./options.ts";
import { Registry } from "./registry.ts";
import { Room } from "./room.ts";
import { type TickAnswer, type TickOptions, tick } from "./tick.ts";
import { TimeLimit } from "./time-limit.ts";
import { Warm } from "./warm.ts";

/** How long a tick may go on without having done a page. Then it counts as failed. */
const tickMs = 60_000;

/** How long a process that ends tries to give back its leases. */
const giveBackMs = 5_000;

export class Engine {
  readonly #crew: Crew;
  readonly #closing = new AbortController();

  constructor(given: EngineOptions) {
    const { host = hostClock, random = Math.random } = given;
    const options = guardHooks({ ...given, dispatch: limited(given.dispatch, host) });
    checkLeaseMs(options.leaseMs);
    const gate = new Gate();
    this.#crew = {
      options,
      tell: options.onEvent,
      report: reportTo(options.onEvent),
      registry: new Registry(options.workflows),
      warm: new Warm(options.warmRuns ?? defaults.warmRuns, options.warmBytes ?? defaults.warmBytes),
      bodies: new Bodies(),
      gate,
      room: new Room(options.workBytes ?? Number.POSITIVE_INFINITY),
      kept: new KeptFinishes({ gate, host, random }),
      leases: new Set(),
      isClosing: false,
    };
  }

  /** Whether it claims nothing at present: results of steps, or renewals of leases, wait for the database to take them. */
  get isHolding(): boolean {
    return !this.#crew.gate.isOpen;
  }

  /** How many finished turns are in memory that the database did not take yet. */
  get keptFinishes(): number {
    return this.#crew.kept.size;
  }

  /**
   * From now on a turn under way is the last of its run here, and results that are kept are still sent. A tick under way is
   * given up: the next process does it.
   */
  close(): void {
    this.#crew.isClosing = true;
    this.#crew.gate.remove();
    this.#crew.room.remove();
    this.#closing.abort(new Error("this process is closing"));
  }

  /**
   * Gives up the results that the database has not taken, so that nothing waits for it any more. Their leases run out, and
   * the steps are carried out again.
   */
  abandon(): void {
    this.#crew.kept.abandon();
  }

  /**
   * Ends what is under way, as far as it can be ended: bodies have their abort signals fired, and leases are given back of
   * turns whose finish was never sent, so that another process begins them anew at once. Never rejects: what cannot be
   * given back is claimed when its lease is over.
   */
  async giveBack(): Promise<void> {
    const { calls, host = hostClock } = this.#crew.options;
    const unfinished = [...this.#crew.leases].filter((lease) => !lease.isFinishSent);
    for (const lease of unfinished) {
      lease.isGivenBack = true;
      lease.lose();
    }
    if (unfinished.length === 0) return;
    const turns = unfinished.map(({ turn: { beginnings: _, ...turn } }) => turn);
    const limit = new TimeLimit({ host, ms: giveBackMs, what: "giving leases back" });
    await limit
      .wait(() => calls.returnLeases(turns))
      .catch((error: unknown) => this.#crew.report(error, "giving leases back"));
  }

  /**
   * One invocation. Never rejects: what fails is reported, and carried out again by whoever claims next. False: it could
   * claim none of them, as the database failed or does not know this environment. Nobody counted that as a try. While
   * this process is holding results it waits.
   *
   * @param onEnd is told of each turn that has ended
   */
  carryOut(turns: readonly TurnRef[], onEnd?: () => void): Promise<boolean> {
    return carryOut(this.#crew, turns, onEnd);
  }

  /**
   * One pass of the scheduler. Whatever comes of it, an alarm stands for the next one. After an outage it waits for the
   * results and renewals of this process: what is late for want of a database is not abandoned.
   *
   * @throws LayoverError `no_answer`, if it gets no further within a minute
   */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    const { calls, host = hostClock } = this.#crew.options;
    const abortSignal = this.#closing.signal;
    const { gate } = this.#crew;
    while (!gate.isOpen) {
      await gate.pass();
      if (!abortSignal.aborted) await pause(host, defaults.settleMs);
    }
    try {
      return await tick(this.#crew, new TimeLimit({ host, ms: tickMs, what: "a tick", abortSignal }), options);
    } catch (error) {
      if (calls.clock.isKnown && !abortSignal.aborted) await calls.alarms.arm([calls.clock.now() + 60_000]);
      throw error;
    }
  }
}
