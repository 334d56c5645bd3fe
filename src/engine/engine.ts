/** Carries out turns and ticks for one deployment. Whoever hosts it brings the ports. */
import type { TurnRef } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import { afterOutageMs, nextTickMs, tickMs } from "../core/waking.ts";
import { limited } from "../postgres/dispatch-limit.ts";
import { hostClock } from "../postgres/host-clock.ts";
import { Carriers } from "./carriers.ts";
import { carryOut, type Listeners } from "./carry-out-turns.ts";
import { Gate } from "./claim/gate.ts";
import { HistoryBudget } from "./claim/history-budget.ts";
import { LeaseReturns } from "./claim/lease-returns.ts";
import { closing } from "./closing.ts";
import type { EngineContext } from "./engine-context.ts";
import { reportTo } from "./events.ts";
import { KeptFinishes } from "./finish/kept-finishes.ts";
import { guardHooks } from "./hooks.ts";
import { checkLeaseMs, defaults, type EngineOptions } from "./options.ts";
import { WarmRuns } from "./replay/warm-runs.ts";
import { type TickAnswer, type TickOptions, tick } from "./scheduler/tick.ts";
import { TimeLimit } from "./scheduler/time-limit.ts";
import { Bodies } from "./turn/bodies.ts";

/** How long a process that ends tries to give back its leases. */
const giveBackMs = 5_000;

export class Engine {
  readonly #context: EngineContext;
  readonly #closing = new AbortController();

  constructor(given: EngineOptions) {
    const { host = hostClock, random = Math.random } = given;
    const options = guardHooks({ ...given, dispatch: limited(given.dispatch, host) });
    checkLeaseMs(options.leaseMs);
    const gate = new Gate();
    const report = reportTo(options.onEvent);
    this.#context = {
      options,
      host,
      tell: options.onEvent,
      report,
      registry: options.registry,
      warm: new WarmRuns(options.warmRuns ?? defaults.warmRuns, options.warmBytes ?? defaults.warmBytes),
      bodies: new Bodies(),
      gate,
      historyBudget: new HistoryBudget(options.workBytes ?? Number.POSITIVE_INFINITY),
      carriers: new Carriers({ ...options, host, report }),
      kept: new KeptFinishes({ gate, host, random }),
      leases: new Set(),
      returns: new LeaseReturns(options.calls, report),
      isClosing: false,
    };
  }

  /** Whether it claims nothing at present, because results of steps or renewals of leases wait for the database. */
  get isHolding(): boolean {
    return !this.#context.gate.isOpen;
  }

  /** How many finished turns are in memory that the database has not taken yet. */
  get keptFinishes(): number {
    return this.#context.kept.size;
  }

  /**
   * Begins the end of this engine. Each turn under way is the last of its run here. Kept results are still sent. A tick
   * under way is given up, and the next process does it.
   */
  close(): void {
    this.#context.isClosing = true;
    this.#context.gate.remove();
    this.#context.historyBudget.remove();
    this.#closing.abort(closing());
  }

  /**
   * Gives up the results that the database has not taken, so that nothing waits for it any more. When their leases have
   * ended, the steps are carried out again.
   */
  abandon(): void {
    this.#context.kept.abandon();
  }

  /**
   * Ends what is under way, as far as it can be ended. It fires the abort signals of bodies. It gives back the leases
   * of turns whose finish was never sent, and those that a call under way is about to bring, so that another process
   * begins these turns at once. It never rejects: a turn that cannot be given back is claimed when its lease has ended.
   */
  async giveBack(): Promise<void> {
    const { host } = this.#context;
    const unfinished = [...this.#context.leases].filter((lease) => !lease.isFinishSent);
    for (const lease of unfinished) {
      lease.giveBack();
    }
    const turns = unfinished.map(({ turn: { beginnings: _, ...turn } }) => turn);
    const limit = new TimeLimit({ host, ms: giveBackMs, what: "giving leases back" });
    await limit
      .wait(() => this.#context.returns.begin(turns))
      .catch((error: unknown) => this.#context.report(error, "giving leases back"));
  }

  /**
   * Renews the leases of a run that this process carries out, since somebody has asked it to end: by that its bodies are told at
   * once, and not only at the next half-time of their leases. It never rejects.
   */
  readonly tellEnd = async (runId: string): Promise<void> => {
    const ofRun = [...this.#context.leases].filter(({ turn, isFinishSent }) => turn.runId === runId && !isFinishSent);
    await Promise.all([...new Set(ofRun.map(({ renewNow }) => renewNow))].map((renewNow) => renewNow()));
  };

  /**
   * Carries out one invocation. Never rejects: an error is reported, and the turn is carried out again by whoever
   * claims it next. Answers false if it could claim none of the turns, because the database failed or does not know
   * this environment. Such a try does not count. While this process holds results, the invocation waits.
   */
  carryOut(turns: readonly TurnRef[], listeners?: Listeners): Promise<boolean> {
    return carryOut(this.#context, turns, listeners);
  }

  /**
   * Does one pass of the scheduler. Whatever comes of it, an alarm stands for the next one. After an outage it first
   * waits for the results and renewals of this process. A lease that is only late because the database was away is then
   * not taken for lost.
   *
   * @throws LayoverError `no_answer`, if it gets no further within a minute; `closing`, if this process is about to end
   */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    const { host } = this.#context;
    const { calls } = this.#context.options;
    const abortSignal = this.#closing.signal;
    const { gate } = this.#context;
    while (!gate.isOpen) {
      await gate.untilOpen();
      if (!abortSignal.aborted) await pause(host, afterOutageMs);
    }
    try {
      const limit = new TimeLimit({ host, ms: tickMs, what: "a tick", abortSignal });
      const answer = await tick(this.#context, limit, options);
      this.#context.options.telemetry?.onTick(answer);
      return answer;
    } catch (error) {
      const isToArm = calls.clock.isKnown && !abortSignal.aborted && options.isArmedAgain !== true;
      if (isToArm) await calls.alarms.arm([calls.clock.now() + nextTickMs]);
      throw error;
    }
  }
}
