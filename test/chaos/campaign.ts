/**
 * Runs of a workflow whose right answer is known, and schedules that start others, on real processes and a real Postgres,
 * while all of it is killed, frozen, crashed and cut off, as a seed has planned it. Then quiet returns, and everything must
 * end right.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Chance } from "../engine/chance.ts";
import { readEffects } from "./effects.ts";
import { Havoc, type HavocOptions } from "./havoc.ts";
import { Keeper } from "./keeper.ts";
import { Outages } from "./outages.ts";
import { type Errand, Outside } from "./outside.ts";
import { readChanges, readNow, readStartedRuns } from "./schedule-log.ts";
import { type ScheduleEvidence, scheduleFaults } from "./schedule-verdict.ts";
import { Site, type SiteOptions } from "./site.ts";
import { timetable } from "./timetable.ts";
import { type Evidence, faultsOf, isWornOut, type SentSignal } from "./verdict.ts";
import { type SeenRun, type Violation, Watcher } from "./watcher.ts";

export interface CampaignOptions extends SiteOptions, HavocOptions {
  /** How long after the chaos everything must be over. */
  readonly quietMs: number;
  /**
   * What wakes in the end what was lost with a process. `cron`: only the scheduler, which may take some minutes.
   * `deploys`: processes are replaced one after the other.
   */
  readonly wokenBy: "cron" | "deploys";
  /** Instead of havoc, the database has outages: `long` ones of up to three minutes. Default: none. */
  readonly outages?: "short" | "long" | undefined;
  /** See {@link Outages}. */
  readonly smallDisk?: string | undefined;
  readonly report: (line: string) => void;
}

export interface CampaignAnswer {
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  /** All there is about a run. */
  readonly evidence: ReadonlyMap<string, Evidence>;
  /** What processes complained of, and how often. */
  readonly complaints: ReadonlyMap<string, number>;
}

const cronMs = 2_000;
const progressMs = 5_000;

export async function wage(options: CampaignOptions): Promise<CampaignAnswer> {
  const site = await Site.open(options);
  try {
    const campaign = new Campaign(site, options);
    return await campaign.wage();
  } finally {
    await site.close();
  }
}

class Campaign {
  readonly #options: CampaignOptions;
  readonly #site: Site;
  readonly #watcher: Watcher;
  readonly #outside: Outside;
  readonly #keeper: Keeper;
  readonly #havoc: Havoc | Outages;
  readonly #errands: Errand[] = [];
  readonly #violations: Violation[] = [];
  readonly #beganAt = performance.now();
  #isChaos = true;
  #isOver = false;

  constructor(site: Site, options: CampaignOptions) {
    this.#site = site;
    this.#options = options;
    const watcher = new Watcher(site.pool);
    this.#watcher = watcher;
    const { outages } = options;
    this.#havoc =
      outages === undefined
        ? new Havoc(site, options, () => watcher.recorded)
        : new Outages(site, { ...options, areLong: outages === "long" }, watcher);
    const chance = new Chance(options.seed, 1);
    const anyUrl = () => chance.pick(site.berths).url;
    this.#outside = new Outside({ apiKey: site.apiKey, anyUrl, random: chance.next });
    this.#keeper = new Keeper({ ask: (what) => this.#outside.ask(what), random: new Chance(options.seed, 2).next });
  }

  async wage(): Promise<CampaignAnswer> {
    const { people, quietMs, wokenBy, report } = this.#options;
    const watching = [this.#watcher.watch(), this.#progress()];
    // Where only the database fails, the processes wake each other: they have doors.
    if (this.#havoc instanceof Havoc) watching.push(this.#every(cronMs, () => this.#outside.wake()));
    const living = Promise.all([this.#keep(), ...Array.from({ length: people }, () => this.#live())]);
    await this.#havoc.wreak();
    this.#isChaos = false;
    report("quiet");
    const havoc = this.#havoc;
    const isDeploying = wokenBy === "deploys" && havoc instanceof Havoc;
    const deploying = isDeploying ? havoc.deploy(() => this.#isOver) : undefined;
    await Promise.race([living, delay(quietMs, undefined, { ref: false })]);
    this.#isOver = true;
    this.#watcher.close();
    this.#outside.close();
    await Promise.all([living, deploying, ...watching]);
    await this.#site.endProcesses(); // whatever was frozen at its work has finished it by now
    return await this.#judge();
  }

  /** Somebody who has one thing done after the other. */
  async #live(): Promise<void> {
    while (this.#isChaos) {
      const errand = this.#outside.makeUp(this.#errands.length);
      const { runId } = errand;
      this.#errands.push(errand);
      this.#watcher.follow(runId);
      const isKnown = (run: SeenRun) => run.token !== null || run.endedAt !== null;
      const token = async () => (await this.#watcher.until(runId, isKnown)).token;
      try {
        await this.#outside.see(errand, token);
        await this.#watcher.until(runId, ({ endedAt }) => endedAt !== null);
      } catch (error) {
        this.#violations.push({ runId, what: String(error) });
      }
    }
  }

  /** Somebody who looks after the schedules. */
  async #keep(): Promise<void> {
    try {
      await this.#keeper.keep(() => !this.#isChaos);
    } catch (error) {
      this.#violations.push({ runId: "none", what: `looking after the schedules: ${String(error)}` });
    }
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await delay(ms);
      await work().catch((error: unknown) => this.#violations.push({ runId: "none", what: String(error) }));
    }
  }

  async #progress(): Promise<void> {
    await this.#every(progressMs, async () => {
      const struck = Object.entries(this.#havoc.struck).map(([what, count]) => `${count} ${what}`);
      const over = this.#errands.length - this.#watcher.underWayCount;
      const seconds = Math.round((performance.now() - this.#beganAt) / 1_000);
      this.#options.report(
        `${seconds} s: ${this.#errands.length} runs, ${over} over; ${struck.join(", ")}, ` +
          `${this.#havoc.cutCount} cuts; ${this.#violations.length + this.#watcher.violations.length} violations`,
      );
    });
  }

  async #judge(): Promise<CampaignAnswer> {
    const evidence = await this.#gather();
    const violations = [...this.#watcher.violations, ...this.#violations];
    for (const error of this.#havoc.failures) violations.push({ runId: "none", what: String(error) });
    // An outage kills no process, so it wears out no step.
    const mayWear = this.#havoc instanceof Havoc;
    const wornOut = [...evidence].filter(([, all]) => mayWear && isWornOut(all)).map(([runId]) => runId);
    for (const [runId, all] of evidence) {
      if (!wornOut.includes(runId)) violations.push(...faultsOf(all).map((what) => ({ runId, what })));
    }
    const schedules = await this.#gatherSchedules();
    violations.push(...scheduleFaults(schedules).map((what) => ({ runId: "none", what })));
    const bodies = [...evidence.values()].flatMap(({ effects }) => effects);
    const attempts = new Set(bodies.map(({ idempotencyKey, attempt }) => `${idempotencyKey} ${attempt}`));
    const counts = {
      ...{ runs: this.#errands.length, wornOut: wornOut.length, cancelled: this.#outside.cancelled.size },
      ...{ bodies: bodies.length, bodiesRunAgain: bodies.length - attempts.size, looks: this.#watcher.looks },
      ...{ ...this.#havoc.struck, deploys: this.#havoc.deploys, cuts: this.#havoc.cutCount, ...this.#havoc.cuts },
      ...{ deadlocks: this.#watcher.deadlocks, handovers: this.#site.pooler.handovers },
      ...{ firings: schedules.runs.length, triggers: schedules.triggers.length, changes: schedules.changes.length },
      ...Object.fromEntries(this.#outside.passed),
      ...this.#recoveries(),
    };
    return { counts, violations, evidence, complaints: this.#site.complaints };
  }

  /** The longest time until everything moved again, and until all was over, by what had happened. */
  #recoveries(): Readonly<Record<string, number>> {
    if (!(this.#havoc instanceof Outages)) return {};
    const { recoveries, drains, undisturbedMs } = this.#havoc;
    const longest = (what: string, of: Outages["recoveries"]) =>
      [...Map.groupBy(of, ({ after }) => after)].map(([after, each]) => [
        `ms until all ${what} after "${after}"`,
        Math.max(...each.map(({ ms }) => ms)),
      ]);
    return {
      "ms of the longest run before": undisturbedMs,
      ...Object.fromEntries([...longest("moved", recoveries), ...longest("were over", drains)]),
    };
  }

  async #gatherSchedules(): Promise<ScheduleEvidence> {
    const { pool } = this.#site;
    const changes = await readChanges(pool);
    const runs = await readStartedRuns(pool);
    const { triggers } = this.#keeper;
    const setBack = this.#havoc instanceof Outages ? this.#havoc.setBack : undefined;
    return { changes, runs, triggers, declared: timetable.map(({ name }) => name), now: await readNow(pool), setBack };
  }

  async #gather(): Promise<ReadonlyMap<string, Evidence>> {
    const { pool } = this.#site;
    const runIds = this.#errands.map(({ runId }) => runId);
    await this.#watcher.look(runIds);
    const effects = Map.groupBy(await readEffects(pool, runIds), ({ runId }) => runId);
    const { rows } = await pool.query<SentSignal & { runId: string }>(
      `select run_id as "runId", name, payload, position from layover.signal where run_id = any ($1) order by number`,
      [runIds],
    );
    const signals = Map.groupBy(rows, ({ runId }) => runId);
    const { begun } = this.#site;
    const all = this.#errands.map((errand): [string, Evidence] => {
      const { runId } = errand;
      const [run, theirs] = [this.#watcher.find(runId), effects.get(runId) ?? []];
      return [
        runId,
        {
          errand,
          run,
          effects: theirs,
          begun: begun.get(runId) ?? {},
          signals: signals.get(runId) ?? [],
          isCancelled: this.#outside.cancelled.has(runId),
        },
      ];
    });
    return new Map(all);
  }
}
