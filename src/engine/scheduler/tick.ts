/**
 * One pass of the scheduler. It never claims: it lists what is due, arms the next instants, moves the due instants on,
 * and only then dispatches. So at every moment each run is armed. Then it fires the schedules that are due.
 */
import { aboutToRingMs, longestBackoffMs, lookAheadMs, motionMinute } from "../../core/waking.ts";
import type { DueAnswer, DueCall, Move, NoteCall } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { refusalBy } from "../finish/refusal.ts";
import { defaults } from "../options.ts";
import { wrongEnvironment } from "../wrong-environment.ts";
import { comingOf, type DelayedTurn, isAhead, type Look, look, readyOf } from "./due-runs.ts";
import { ringElsewhere } from "./elsewhere.ts";
import { Firings } from "./firings.ts";
import { KeptSignals } from "./kept-signals.ts";
import { lookEvents } from "./look-events.ts";
import { Mover } from "./mover.ts";
import { prune } from "./prune.ts";
import { noteDeployment } from "./schedules.ts";
import { sweep } from "./sweep.ts";
import { type MostOfTick, TickBudget } from "./tick-budget.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface TickOptions {
  /**
   * Whether this is the first tick of a process. Such a tick looks at all runs that are ready or blocked, whenever they
   * are due, and counts their dispatches from the beginning. Default: the database decides, by whether it knows the
   * engine's `deployment`. Without a deployment: false.
   */
  readonly isFirst?: boolean;
  /** The most that this tick dispatches. Default: no limit. */
  readonly most?: MostOfTick | undefined;
  /** Is told what is moved on, before it is dispatched. The platform may refuse a dispatch later (see due-again.ts). */
  readonly onMoved?: (moves: readonly Move[]) => void;
  /** Whether nobody else uses the database. Default: false. */
  readonly isExclusive?: boolean;
  /**
   * Whether the tick also dispatches what will be ready, or lose its lease, within three minutes. The process that was
   * to do that may be dead, or may not have reached the database. The due instants of such runs stay. Default: false.
   */
  readonly looksAhead?: boolean;
  /**
   * The instant of the database's clock for which the alarm was armed. The tick looks at what is ready and due by then,
   * though the clock may have been set back since. Left out: the alarm does not know.
   */
  readonly readyUntil?: number | undefined;
  /**
   * Whether another deployment has asked for this tick. Whoever asked rings at all others that have the code of what is due, so this
   * tick rings at none. Two hosts would else ring at each other without end, for a run that only earlier builds carried. Default: false.
   */
  readonly isRung?: boolean | undefined;
  /** Whether the caller arms the next tick itself, if this one fails. Default: false. */
  readonly isArmedAgain?: boolean | undefined;
}

export interface TickAnswer {
  /** False: the database belongs to another environment, so nothing was looked at. */
  readonly isOurs: boolean;
  readonly due: number;
  /** How many of them were due for so long that their alarm must have rung, however late an alarm may ring here. */
  readonly overdue: number;
  readonly dispatched: number;
  /** Whether something due was left, since the tick may dispatch only so much. */
  readonly isCutShort: boolean;
  /**
   * Whether this tick has looked at all runs that are ready or blocked, as the first one of a process or deployment.
   * The caller notes it in the database (`noteDeployment`, `looked`) once all its dispatches were sent.
   */
  readonly hasSeenAll: boolean;
  /** The last blocked run that such a tick had room for, if it had no room for all runs. */
  readonly triedThrough?: string | undefined;
}

const pageSize = 500;

/** Does one pass. Each call has to end within `limit`, which begins anew with each page. */
export async function tick(context: EngineContext, limit: TimeLimit, options: TickOptions = {}): Promise<TickAnswer> {
  return await new Tick(context, limit, options).pass();
}

class Tick {
  readonly #context: EngineContext;
  readonly #limit: TimeLimit;
  /** Name and id of the deployment. Undefined: it has none. */
  readonly #named: Pick<NoteCall, "deploymentName" | "deployment"> | undefined;
  readonly #isFirst: boolean;
  readonly #isExclusive: boolean;
  readonly #looksAhead: boolean;
  readonly #isRung: boolean;
  /** The latest due instant at which it looks, for what is ready. */
  #readyUntil: number;
  readonly #mover: Mover;
  readonly #kept: KeptSignals;
  readonly #budget: TickBudget;
  readonly #firings: Firings;
  /** The first page, which lists the schedules that are due. */
  #first: DueAnswer | undefined;
  /** Whether the pages list no schedules, as the database has failed to. */
  #listsApart = false;
  /** Ids of the runs that were looked at. A run that was moved may come again, on a later page. */
  readonly #seen = new Set<string>();
  readonly #locked: Look[] = [];
  #due = 0;
  #overdue = 0;
  #isComplete = true;
  #triedThrough: string | undefined;

  constructor(context: EngineContext, limit: TimeLimit, options: TickOptions) {
    const { isFirst = false, isExclusive = false, looksAhead = false, readyUntil = 0, isRung = false } = options;
    const { deployment } = context.options;
    this.#context = context;
    this.#named = deployment && { deploymentName: deployment.name, deployment: deployment.id };
    this.#limit = limit;
    this.#isFirst = isFirst;
    this.#isExclusive = isExclusive;
    this.#looksAhead = looksAhead;
    this.#readyUntil = readyUntil;
    this.#isRung = isRung;
    this.#mover = new Mover({ context, limit, onMoved: options.onMoved });
    this.#kept = new KeptSignals({ context, limit, mover: this.#mover });
    this.#budget = new TickBudget(options.most);
    this.#firings = new Firings({ context, limit, mover: this.#mover, budget: this.#budget });
  }

  async pass(): Promise<TickAnswer> {
    // This process may run other code under the same id, so what its deployment has refused is asked for again.
    if (this.#isFirst) await this.#note("deployed", true);
    let last: DueAnswer;
    try {
      last = await this.#lookAtRuns();
    } catch (error) {
      // A database that refuses what is done with runs may yet fire schedules.
      if (refusalBy(error).isAnswered)
        await this.#fire().catch((other: unknown) => this.#context.report(other, "firing schedules"));
      throw error;
    }
    if (!last.isOurs) return await this.#leaveAlone(last);
    await this.#fire();
    return await this.#end(last.isNew);
  }

  async #fire(): Promise<void> {
    if (this.#first === undefined || this.#listsApart) await this.#firings.fireUnlisted();
    else await this.#firings.fire(this.#first);
  }

  /** Lists what is due. If the database can list no schedules, the runs alone. */
  async #listDue(call: DueCall): Promise<DueAnswer> {
    const { calls } = this.#context.options;
    try {
      return await this.#limit.wait(() => calls.listDue(call));
    } catch (error) {
      if (this.#listsApart || !refusalBy(error).isAnswered) throw error;
      const answer = await this.#limit.wait(() => calls.listDue({ ...call, withoutSchedules: true }));
      this.#listsApart = true;
      this.#context.report(error, "looking for what is due");
      return answer;
    }
  }

  /** Looks at the runs, page by page, and answers the last page. */
  async #lookAtRuns(): Promise<DueAnswer> {
    const { calls } = this.#context.options;
    let call = this.#firstCall();
    for (;;) {
      const page = await this.#listDue(call);
      if (!page.isOurs) return page;
      if (calls.clock.readyUntil > this.#readyUntil) {
        call = this.#firstCall(); // this answer has told of it
        continue;
      }
      if (call.after === undefined) this.#first = page;
      await this.#prepare(page);
      await this.#lookAt(page);
      await this.#kept.send(page);
      await ringElsewhere(this.#context, this.#limit, { page, isRung: this.#isRung });
      this.#limit.extend();
      const after = this.#endOf(page);
      if (after === undefined) return page;
      call = { ...call, isNew: page.isNew, after };
    }
  }

  #firstCall(): DueCall {
    const { calls, environment = defaults.environment } = this.#context.options;
    const { versions } = this.#context.registry;
    const withinMs = this.#looksAhead ? lookAheadMs : 0;
    this.#readyUntil = Math.max(this.#readyUntil, calls.clock.readyUntil);
    const call = {
      environment,
      versions,
      limit: pageSize,
      withinMs,
      readyUntil: this.#readyUntil,
      declares: true,
      ...this.#named,
    } as const;
    if (this.#isFirst) return { ...call, isNew: true };
    return this.#named === undefined ? { ...call, isNew: false } : call; // the database knows the deployment, or not
  }

  /** Notes that this deployment is deployed, or that it is still there. */
  async #note(note: "deployed" | "seen", isStart = false): Promise<void> {
    if (this.#named === undefined) return;
    await noteDeployment(this.#context, this.#limit, { note, isStart, isExclusive: this.#isExclusive, ...this.#named });
  }

  /** Arms a late tick, since somebody may have adopted the database by then. */
  async #leaveAlone({ now }: DueAnswer): Promise<TickAnswer> {
    const { calls, environment = defaults.environment } = this.#context.options;
    this.#context.report(wrongEnvironment(environment), "looking for what is due");
    await this.#limit.wait(() => calls.alarms.arm([now + longestBackoffMs]));
    return { isOurs: false, due: 0, overdue: 0, dispatched: 0, isCutShort: false, hasSeenAll: false };
  }

  /** Notes the deployment if the database asks for it, and arms what does not depend on the runs of the page. */
  async #prepare({ now, isUnnoted, isStale, nextDueAt }: DueAnswer): Promise<void> {
    const { calls } = this.#context.options;
    if (isUnnoted === true) await this.#note("deployed");
    else if (isStale === true) await this.#note("seen");
    calls.alarms.forgetWithin(aboutToRingMs);
    if (nextDueAt !== null) await this.#limit.wait(() => calls.alarms.arm([nextDueAt]));
    // A call of the process that was here before may commit after this look, and its alarms are gone. By then it has.
    if (this.#isFirst && !this.#isExclusive) await this.#limit.wait(() => calls.alarms.arm([motionMinute(now)]));
  }

  async #lookAt(page: DueAnswer): Promise<void> {
    const { tell, options } = this.#context;
    const soonAt = motionMinute(page.now);
    const { isBeat, pace } = options.calls.alarms;
    const notBefore = isBeat ? page.now : soonAt;
    const looks: Look[] = [];
    const ahead: DelayedTurn[] = [];
    for (const run of page.runs.filter(({ runId }) => !this.#seen.has(runId))) {
      this.#seen.add(run.runId);
      if (run.dueAt !== null && page.now - run.dueAt > pace.latestRingMs) this.#overdue += 1;
      for (const event of lookEvents(run, page.now)) tell(event);
      const coming = this.#looksAhead ? comingOf(run, page.now) : undefined;
      if (coming !== undefined && isAhead(run, page, this.#readyUntil)) {
        ahead.push(...readyOf(run), ...coming);
        continue;
      }
      const one = look(run, { now: page.now, notBefore, countsAnew: page.isNew, coming, pace });
      const isTaken = this.#budget.take(one);
      if (isTaken) looks.push(one);
      this.#isComplete &&= isTaken;
      if (this.#isComplete && run.dueAt === null) this.#triedThrough = run.runId;
    }
    const terms = { countsAnew: page.isNew, soonAt, skipsLocked: true };
    this.#locked.push(...(await this.#mover.moveOn(looks, terms)));
    await this.#mover.dispatch(ahead);
  }

  /** Answers the last run of a page if another page follows. */
  #endOf({ runs }: DueAnswer): DueCall["after"] | undefined {
    this.#due += runs.length;
    const last = runs.at(-1);
    if (last === undefined || runs.length < pageSize) return undefined;
    if (!this.#budget.isFull) return { dueAt: last.dueAt, runId: last.runId };
    this.#isComplete = false;
    return undefined;
  }

  async #end(looksAtAll: boolean): Promise<TickAnswer> {
    const { options, host, registry } = this.#context;
    const { retention } = registry;
    const { calls, keepMs = defaults.keepMs, keepFailedMs = defaults.keepFailedMs } = options;
    const areSeen = await this.#mover.moveLocked(this.#locked, looksAtAll);
    await this.#kept.sendLocked();
    const isPruned = await this.#limit.wait(() => prune({ calls, host, keepMs, keepFailedMs, retention }));
    if (!isPruned) await this.#limit.wait(() => calls.alarms.arm([motionMinute(calls.clock.now())]));
    await sweep(this.#context, this.#limit);
    if (this.#isComplete && areSeen && calls.clock.readyUntil <= this.#readyUntil) calls.clock.readyUntil = 0;
    const hasSeenAll = looksAtAll && this.#isComplete && areSeen;
    return {
      isOurs: true,
      due: this.#due,
      overdue: this.#overdue,
      dispatched: this.#mover.dispatched,
      isCutShort: !this.#isComplete || this.#firings.isCutShort,
      hasSeenAll,
      triedThrough: looksAtAll && !this.#isComplete && areSeen ? this.#triedThrough : undefined,
    };
  }
}
