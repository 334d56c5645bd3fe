/**
 * Fires the schedules that are due, a page at a time, after the tick has looked at the runs. What a firing starts is a run
 * like any other. If the process dies here, the schedules are still due, or their runs are.
 *
 * Schedules and runs do not stop each other. A firing that the database refuses is told, and the schedule stays due. Of a
 * page that was refused each half is fired by itself, so that one schedule does not stop the others. If the look at runs fails,
 * which lists the schedules as well, they are listed by a call of their own.
 */
import { LayoverError } from "../../core/errors.ts";
import { minuteMs, motionMinute } from "../../core/waking.ts";
import type { DueAnswer, DueSchedule } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { refusalBy } from "../finish/refusal.ts";
import { defaults } from "../options.ts";
import type { Mover } from "./mover.ts";
import type { TickBudget } from "./tick-budget.ts";
import type { TimeLimit } from "./time-limit.ts";

/** How far the host's clock and the database's may be apart. Beyond that one of them is wrong, perhaps the database's. */
const clocksApartMs = 60 * minuteMs;
/** When schedules are looked at again that were not fired for that. */
const heldMs = 10 * minuteMs;
/** How long one tick goes on firing. Another one may begin beside it after 45 s (`overdueMs`). */
const budgetMs = 40_000;
/** How many calls one tick makes for it, of 500 schedules each. */
const mostCalls = 60;

export interface FiringTerms {
  readonly context: EngineContext;
  readonly limit: TimeLimit;
  readonly mover: Mover;
  readonly budget: TickBudget;
}

export class Firings {
  readonly #terms: FiringTerms;
  readonly #until: number;
  /** Names of schedules that stay due: somebody had locked them, or the database refused to fire them. */
  readonly #left: string[] = [];
  #calls = 0;
  /** Whether some are left only since the calls, the time or the dispatches of this tick were used up. */
  isCutShort = false;

  constructor(terms: FiringTerms) {
    this.#terms = terms;
    this.#until = terms.context.host.monotonic() + budgetMs;
  }

  /**
   * Fires what is due after a look that has listed no schedules. Whatever fails is told. Nobody knows when the next one is due,
   * so a tick comes again soon in any case.
   */
  async fireUnlisted(): Promise<void> {
    const { context, limit } = this.#terms;
    const { calls } = context.options;
    try {
      limit.extend();
      const schedules = await this.#call([]);
      await this.fire({ now: calls.clock.now(), schedules });
    } catch (error) {
      context.report(error, "firing schedules");
    }
    if (calls.clock.isKnown) await limit.wait(() => calls.alarms.arm([motionMinute(calls.clock.now())]));
  }

  /** Fires what a look has listed, and then the pages behind it. For what stays due it arms the next minute. */
  async fire({ now, schedules }: Pick<DueAnswer, "now" | "schedules">): Promise<void> {
    const { context, limit, budget } = this.#terms;
    if (schedules == null || (await this.#isHeld(now, schedules.length))) return;
    let page: readonly DueSchedule[] | null = schedules;
    while (page !== null && !this.isCutShort) {
      const next = await this.#firePage(page);
      const free = next?.filter(({ name }) => !this.#left.includes(name)) ?? [];
      page = free.length === 0 ? null : free;
      limit.extend();
      this.isCutShort ||= page !== null && (budget.isFull || this.#isUsedUp);
    }
    const { calls } = context.options;
    if (this.#left.length > 0 || this.isCutShort)
      await limit.wait(() => calls.alarms.arm([motionMinute(calls.clock.now())]));
  }

  get #isUsedUp(): boolean {
    return this.#calls >= mostCalls || this.#terms.context.host.monotonic() >= this.#until;
  }

  async #isHeld(now: number, due: number): Promise<boolean> {
    const { context, limit } = this.#terms;
    const { calls, timeOfDay } = context.options;
    const apartMs = timeOfDay === undefined ? 0 : Math.abs(timeOfDay() - now);
    if (apartMs <= clocksApartMs) return false;
    const message = `${due} schedules are due and not fired: the clocks of this host and of the database are ${Math.round(apartMs / minuteMs)} minutes apart`;
    context.tell({ kind: "schedules_held", due, message });
    await limit.wait(() => calls.alarms.arm([motionMinute(now + heldMs)]));
    return true;
  }

  /** Fires a page, and answers the next one. Null: there is none. */
  async #firePage(page: readonly DueSchedule[]): Promise<readonly DueSchedule[] | null> {
    try {
      return await this.#call(page);
    } catch (error) {
      const isSilent = error instanceof LayoverError && error.code === "no_answer";
      if (!isSilent && !refusalBy(error).isAnswered) throw error;
      this.#terms.limit.extend();
      if (page.length > 1 && !this.#isUsedUp) {
        const half = page.length / 2;
        const afterFirst = await this.#firePage(page.slice(0, half));
        return (await this.#firePage(page.slice(half))) ?? afterFirst;
      }
      const [first] = page;
      this.#terms.context.report(error, page.length > 1 ? "firing schedules" : `firing the schedule ${first?.name}`);
      this.#left.push(...page.map(({ name }) => name));
      return null;
    }
  }

  async #call(page: readonly DueSchedule[]): Promise<readonly DueSchedule[] | null> {
    const { context, limit, mover, budget } = this.#terms;
    const { options, registry, tell } = context;
    const { calls, environment = defaults.environment } = options;
    const names = page.map(({ name }) => name);
    const lookAt = page.flatMap(({ lookAt }) => lookAt ?? []);
    const call = { environment, versions: registry.versions, names, listsNext: true, except: this.#left } as const;
    this.#calls += 1;
    const { runs, skips, stopped = [], locked = [], next } = await limit.wait(() => calls.fireSchedules(call, lookAt));
    this.#left.push(...locked);
    this.isCutShort ||= next === undefined; // functions of an earlier release do not say what is left
    for (const { schedule, inRow, skip } of skips) {
      const { cause, at, runId, reason } = skip;
      tell({ kind: "schedule_skipped", schedule, cause, scheduledAt: new Date(at), runId, reason, inRow });
    }
    for (const one of stopped) tell({ kind: "schedule_stopped", ...one });
    const turns = runs.flatMap(({ runId, turn }) => (turn === null ? [] : [{ ref: { runId, turn }, delayMs: 0 }]));
    // The first page does not count: what schedules start and what is due do not take the dispatches from each other.
    if (this.#calls > 1) budget.takeTurns(turns.length);
    await mover.dispatch(turns);
    return next ?? null;
  }
}
