/**
 * Plays a scenario: the real engine, client, tick and SQL on a real Postgres, in a world in which everything else is
 * drawn from one seed: what happens next, what becomes of each call, when platforms deliver, what time hosts believe it
 * is. After each event the rules must hold (rules.ts), at the end every run must be right (verdict.ts).
 *
 *   const report = await simulate(site, scenario);
 *   expect(report.wrongs).toEqual([]);
 */
import { beginningsIn } from "../engine/beginnings.ts";
import { Chance } from "../engine/chance.ts";
import { Course, earliest, type Source } from "../engine/course.ts";
import { atWork } from "../engine/mortal.ts";
import { Process } from "../engine/process.ts";
import { openCleanups } from "./afterwards.ts";
import { describeAnswer, describeCall, describeRun } from "./describe.ts";
import { type Fate, Faults, noneMet } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { Ledger } from "./ledger.ts";
import { Operators } from "./operators.ts";
import type { Outside } from "./outside/outside.ts";
import { outsideOf } from "./outside/platforms.ts";
import { Passage } from "./passage.ts";
import { Patience } from "./patience.ts";
import { People } from "./people.ts";
import { programOf } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { partsOf } from "./programs/program.ts";
import { type Drain, drainObjection, isSteady, longestWaitMs } from "./recovery.ts";
import { Rules } from "./rules.ts";
import type { PlannedRun, Scenario } from "./scenario.ts";
import type { Site } from "./site.ts";
import { type RunRows, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { isUndone } from "./undoing.ts";
import { type Case, judge } from "./verdict.ts";

export interface Report {
  /** What is wrong; the world was left at the first of it. */
  readonly wrongs: readonly string[];
  readonly events: number;
  readonly statements: number;
  /** Statements that waited for a lock. */
  readonly waits: number;
  readonly faults: Readonly<Record<Exclude<Fate, "passes">, number>>;
  readonly deaths: number;
  /** How long it took in the world, in milliseconds. */
  readonly time: number;
  readonly drain: Drain;
}

export interface SimulateOptions {
  /** Gets what happens, line by line. */
  readonly onLine?: ((line: string) => void) | undefined;
}

const beginning = Date.UTC(2026, 0, 1, 12);
const mostEvents = 30_000;
/** How many ticks may be under way that dispatch the same run. */
const mostTicks = 3;
const longestMs = 60 * 86_400_000;

export async function simulate(site: Site, scenario: Scenario, options: SimulateOptions = {}): Promise<Report> {
  const report = await play(site, scenario, options);
  if (report.wrongs.length > 0 || report.drain.calmAt === 0 || !isSteady(scenario)) return report;
  const calm = await play(site, { ...scenario, chances: noneMet(), clockSteps: [], refusal: undefined });
  const wrong = drainObjection(report.drain, calm.drain, scenario);
  return wrong === undefined ? report : { ...report, wrongs: [wrong] };
}

async function play(site: Site, scenario: Scenario, options: SimulateOptions = {}): Promise<Report> {
  await site.clear();
  await site.clock.set(beginning);
  return await new Simulation(site, scenario, options).play();
}

class Simulation {
  readonly #site: Site;
  readonly #scenario: Scenario;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #course: Course;
  readonly #fleet: Fleet;
  readonly #faults: Faults;
  readonly #outside: Outside;
  readonly #passage: Passage;
  readonly #patience: Patience;
  readonly #people: People;
  readonly #operators: Operators;
  readonly #rules = new Rules();
  readonly #contracts;
  /** The idempotency keys of the bodies that were carried out, by run. */
  readonly #bodies = new Map<string, Set<string>>();
  /** The steps that may be carried out at most once, and were: by run, epoch and key. */
  readonly #once = new Set<string>();
  /** What each run has said of itself. */
  readonly #said = new Map<string, Set<string>>();
  readonly #ledger = new Ledger((runId, key) => this.#noteUndo(runId, key));
  /** How often bodies or handlers asked for something. */
  readonly #tries = new Map<string, number>();
  /** The leases of turns that were about to begin alone, by run. */
  readonly #beginnings = new Map<string, Set<string>>();
  /** How far the database's clock is ahead of the world's, and how much it was set in all. */
  #offMs = 0;
  #steppedMs = 0;
  #setAheadMs = 0;
  #steppedAt = 0;
  /** When a group of suspects was under way the last time; the database's. */
  /** The latest time that the database's clock has shown. */
  #latest = 0;
  #groupAt = 0;
  /** When a run moved the last time; the world's. */
  #movedAt = 0;
  #snapshot: Snapshot = { orphans: 0, bare: 0, runs: [] };
  #wrongs: string[] = [];

  constructor(site: Site, scenario: Scenario, { onLine }: SimulateOptions) {
    this.#site = site;
    this.#scenario = scenario;
    this.#onLine = onLine;
    this.#contracts = scenario.runs.map(({ timeoutMs }, index) => programOf(index + 1, timeoutMs));
    const chance = new Chance(scenario.seed, 1);
    const time = () => this.#course.time;
    const note = (line: () => string) => this.#note(line);
    this.#faults = new Faults(scenario, chance);
    this.#fleet = new Fleet({
      site,
      scenario,
      contracts: this.#contracts,
      chance,
      time,
      beginning,
      outside: () => this.#outside,
      world: this.#world(),
      note,
    });
    this.#outside = outsideOf(scenario.platform, {
      now: () => this.#now,
      timeOf: (at) => at - beginning,
      below: (bound) => chance.below(bound),
      processes: () => this.#fleet.takers.filter((process) => process instanceof Process),
      another: () => this.#fleet.another(),
      crash: (process) => this.#fleet.crash(process),
      tick: (process, readyUntil) => this.#fleet.tick(process, readyUntil),
      hasTicked: (deployment) => this.#fleet.settle(deployment),
      looksAhead: (process) => this.#fleet.looksAhead(process),
      dueAt: () => this.#dueAt(),
      refusal: scenario.refusal,
      deployment: () => this.#fleet.deployment,
    });
    this.#passage = new Passage({
      course: () => this.#course,
      chance,
      faults: this.#faults,
      sessions: site.sessions,
      processes: () => this.#fleet.all,
      crash: (process) => this.#fleet.crash(process),
      look: () => this.#look(),
      onCall: (call) => {
        for (const { runId, token } of beginningsIn(call))
          this.#beginnings.set(runId, (this.#beginnings.get(runId) ?? new Set()).add(token));
      },
      note,
      query: site.query,
      describe: describeCall,
      describeAnswer,
    });
    this.#patience = new Patience({ time, chance, processes: () => this.#fleet.takers, note });
    const patience = this.#patience;
    this.#people = new People({ patience, passage: this.#passage, sessions: site.sessions, note });
    this.#operators = new Operators({
      patience,
      onSignal: (runId, letter) => this.#people.noteSignal(runId, letter),
    });
    this.#course = new Course({
      sources: [this.#fleet, this.#passage, this.#outside, this.#patience, this.#clockSteps()],
      isAtRest: () => this.#fleet.isAtRest,
      turnTo: () => this.#turnClock(),
      look: async () => this.#check(),
      pick: (happenings) => chance.pick(happenings),
      mostEvents,
      onHappening: ({ what }) => this.#note(what),
      revive: () => this.#fleet.revive(),
    });
  }

  async play(): Promise<Report> {
    const { runs } = this.#scenario;
    try {
      for (const [index, plan] of runs.entries()) {
        const [contract, runId] = [this.#contractOf(index), runIdOf(index)];
        this.#people.start(contract, runId, plan);
        for (const act of plan.acts) this.#operators.act(contract, runId, act);
      }
      while (this.#wrongs.length === 0 && (await this.#course.event(longestMs)));
      if (this.#wrongs.length === 0) await this.#judge();
    } catch (error) {
      this.#wrongs.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      this.#fleet.end();
      await this.#passage.end();
    }
    for (const wrong of this.#wrongs) this.#note(() => `✗ ${wrong}`);
    const { statements, waits } = this.#passage;
    const { events, time } = this.#course;
    const { deaths } = this.#fleet;
    const drain = { calmAt: this.#calmAt, movedAt: this.#movedAt, isHintLost: this.#passage.isHintLost };
    return { wrongs: this.#wrongs, events, statements, waits, faults: this.#faults.met, deaths, time, drain };
  }

  /** Nothing is left to happen. */
  async #judge(): Promise<void> {
    const wrongs = this.#wrongs;
    if (this.#course.next() !== undefined) wrongs.push(`after ${longestMs / 86_400_000} days it is not quiet`);
    if (this.#patience.busy > 0) wrongs.push("somebody outside waits for an answer for ever");
    if (this.#site.sessions.isAnyLent) wrongs.push("a transaction stands open");
    wrongs.push(...this.#patience.wrongs);
    await this.#look();
    for (const [index, plan] of this.#scenario.runs.entries()) {
      const runId = runIdOf(index);
      const mayHaveStarted = ["somebody in a hurry", "signal", "sender"].includes(plan.by);
      const found = judge({
        ...this.#caseOf(runId, plan),
        mayHaveStarted,
        hasStarted: this.#people.hasStarted(runId),
        mayLackUrl: false,
        openCleanups: await this.#openCleanups(runId, plan),
      });
      wrongs.push(...found.map((wrong) => `of ${runId}: ${wrong}`));
    }
    this.#judgeForks();
  }

  /** What a fork does is not that of its program alone: it goes on from where the run before it had come. */
  #judgeForks(): void {
    for (const { runId, of, isTold } of this.#operators.forks) {
      const plan = this.#scenario.runs[indexOf(of)];
      if (plan === undefined) throw new Error(`there is no run ${of}`);
      const own = this.#caseOf(runId, plan);
      const mayHaveEnded = own.mayHaveEnded || plan.acts.some(({ verb }) => verb === "cancel version");
      const before = this.#caseOf(of, plan);
      const [bodies, given] = [own.bodies + before.bodies, before.given];
      const found = judge({
        ...{ ...own, mayHaveEnded, bodies, given, isRepaired: true },
        ...{ mayHaveStarted: true, hasStarted: isTold, openCleanups: [] },
        mayLackUrl: partsOf(plan.program).some(({ kind }) => kind === "own callback"),
      });
      this.#wrongs.push(...found.map((wrong) => `of ${runId}, a fork of ${of}: ${wrong}`));
    }
  }

  #caseOf(
    runId: string,
    { program, timeoutMs, acts }: PlannedRun,
  ): Omit<Case, "mayHaveStarted" | "hasStarted" | "mayLackUrl" | "openCleanups"> {
    const rows = this.#rowsOf(runId);
    const handled = this.#operators.of(runId);
    const hasLaterEpoch = (rows?.epoch ?? 0) > 0;
    const continuesAsNew = partsOf(program).some(({ kind }) => kind === "laps");
    return {
      ...{ program, timeoutMs, rows, ...handled, hasLaterEpoch },
      sent: this.#people.sentTo(runId),
      answers: { answered: this.#people.answersTo(runId), beginnings: this.#beginnings.get(runId)?.size ?? 0 },
      bodies: this.#bodies.get(runId)?.size ?? 0,
      said: this.#said.get(runId) ?? new Set(),
      account: this.#ledger.of(runId),
      mayBeTerminated: acts.some(({ verb }) => verb === "terminate"),
      areLeasesCut: this.#areLeasesCut,
      isCalm: this.#isCalm,
      isRepaired: handled.isRepaired || (hasLaterEpoch && !continuesAsNew),
    };
  }

  /** The cleanups that the handler of a cancelled run had entered and not left. */
  async #openCleanups(runId: string, { program }: PlannedRun): Promise<readonly string[]> {
    // A run that awaits something else is over after a second of that.
    const isStill = partsOf(program).every(({ kind }) => kind !== "foreign");
    const isReplayed = this.#operators.of(runId).isCancelled && isStill && this.#rowsOf(runId)?.status === "cancelled";
    if (!isReplayed) return [];
    return await openCleanups(this.#site.pool, { runId, contract: this.#contractOf(indexOf(runId)), program });
  }

  #rowsOf(runId: string): RunRows | undefined {
    return this.#snapshot.runs.find((run) => run.runId === runId);
  }

  /**
   * How many dispatches the database may have counted that the platform was not asked for, or has refused: one for each
   * fault and each death, and those of ticks that are under way.
   */
  get #uncounted(): number {
    const { "is held": _, ...faults } = this.#faults.met;
    const met = Object.values(faults).reduce((sum, count) => sum + count, 0);
    return mostTicks + met + this.#fleet.deaths + this.#scenario.deployments.length;
  }

  /** Whether nothing has gone wrong, and nobody was replaced. */
  get #isCalm(): boolean {
    const { "is held": _, ...faults } = this.#faults.met;
    const hasMet = Object.values(faults).some((count) => count > 0);
    return !(hasMet || this.#areLeasesCut) && this.#fleet.deaths === 0 && this.#scenario.deployments.length === 1;
  }

  /** When the last fault was over. */
  get #calmAt(): number {
    const refusedAt = (this.#outside.refusedAt ?? beginning) - beginning;
    return Math.max(this.#passage.troubledAt, this.#fleet.changedAt, this.#steppedAt, refusedAt);
  }

  get #now(): number {
    return beginning + this.#course.time;
  }

  #contractOf(index: number) {
    const contract = this.#contracts[index];
    if (contract === undefined) throw new Error(`there is no run ${index}`);
    return contract;
  }

  /** What the database's clock shows. */
  get #databaseNow(): number {
    return this.#now + this.#offMs;
  }

  #turnClock(): Promise<void> {
    return this.#site.clock.set(this.#databaseNow);
  }

  /** The database's clock is set, as a failover to a server with another clock does it. */
  #clockSteps(): Source {
    const left = [...this.#scenario.clockSteps];
    const set = async (): Promise<void> => {
      const step = left.shift();
      if (step === undefined) return;
      this.#offMs += step.byMs;
      this.#steppedMs += Math.abs(step.byMs);
      this.#setAheadMs += Math.max(0, step.byMs);
      this.#steppedAt = this.#course.time;
      await this.#turnClock();
    };
    return {
      happenings: () => {
        const [step] = left;
        if (step === undefined || step.atMs > this.#course.time) return [];
        return [{ what: () => `the database's clock is set by ${step.byMs / 1_000} s`, act: set }];
      },
      next: () => left[0]?.atMs,
    };
  }

  /** What bodies ask of it. */
  #world(): ProgramWorld {
    return {
      onBody: (runId, key, isCleanup = false) => {
        if (!isCleanup && this.#isTold(runId)) this.#wrongs.push(`${runId} closes, and a step in no cleanup began`);
        this.#noteBody(runId, key);
      },
      onBodyOfOnce: (runId, key) => this.#noteOnce(runId, key),
      onStatus: (runId, status) => this.#said.set(runId, (this.#said.get(runId) ?? new Set()).add(status)),
      ledger: this.#ledger,
      nextTry: (what) => {
        const tries = (this.#tries.get(what) ?? 0) + 1;
        this.#tries.set(what, tries);
        return tries;
      },
      die: () => {
        const process = atWork.getStore();
        if (process !== undefined) this.#fleet.crash(process);
        return new Promise(() => {});
      },
      foreign: (ms) =>
        new Promise((resolve) => {
          if (ms !== undefined) atWork.getStore()?.timers.after(ms, resolve);
        }),
      beckon: (letter) => this.#people.beckon(this.#contractOf(indexOf(letter.runId)), letter),
      invite: (invitation) => this.#people.invite(this.#contractOf(indexOf(invitation.runId)), invitation),
    };
  }

  #noteBody(runId: string, key: string): void {
    this.#bodies.set(runId, (this.#bodies.get(runId) ?? new Set()).add(key));
  }

  /** A retry may ask for it once more. It begins the next epoch. */
  #noteOnce(runId: string, key: string): void {
    const once = `${runId} ${this.#rowsOf(runId)?.epoch} ${key}`;
    if (this.#once.has(once))
      this.#wrongs.push(`of ${runId}: a step was carried out twice that may be so at most once`);
    this.#once.add(once);
  }

  #noteUndo(runId: string, key: string): void {
    this.#noteBody(runId, key);
    const run = this.#rowsOf(runId);
    if (run !== undefined && !this.#areLeasesCut && isUndone(run, key))
      this.#wrongs.push(`an undo of ${runId} was recorded, and was carried out again`);
  }

  /** Whether the run's cancel or its ending is recorded, and no lease was cut short that was given before. */
  #isTold(runId: string): boolean {
    if (this.#areLeasesCut) return false;
    return this.#snapshot.runs.some((run) => run.runId === runId && (run.closings > 0 || run.ending !== null));
  }

  /** Whether a lease may end before its time: by a clock, or a takeover. */
  get #areLeasesCut(): boolean {
    return this.#steppedMs > 0 || this.#scenario.platform === "embedded";
  }

  #dueAt(): number | undefined {
    if (this.#fleet.isNew) return beginning;
    const carried = this.#snapshot.runs.filter(({ version }) => this.#fleet.carries(version));
    return earliest(carried.map(({ due }) => (due === null ? undefined : due - this.#offMs)));
  }

  /** Something may have changed the rows. */
  async #look(): Promise<void> {
    const before = this.#snapshot;
    this.#snapshot = await takeSnapshot(this.#site.pool);
    if (positionsIn(before) !== positionsIn(this.#snapshot)) this.#movedAt = this.#course.time;
    if (this.#onLine !== undefined) this.#noteChanges(before);
    this.#check();
  }

  #noteChanges(before: Snapshot): void {
    for (const run of this.#snapshot.runs) {
      const old = before.runs.find(({ runId }) => runId === run.runId);
      const words = describeRun(run);
      if (old === undefined || describeRun(old) !== words) this.#note(() => `  ${words}`);
    }
  }

  #check(): void {
    const { isNew, settledAt, isBeginning } = this.#fleet;
    const now = this.#databaseNow;
    this.#latest = Math.max(this.#latest, now);
    const { platform } = this.#scenario;
    const [offMs, steppedMs] = [this.#offMs, this.#steppedMs];
    const alarms = this.#outside.standing();
    if (this.#fleet.hasGroup) this.#groupAt = now;
    this.#wrongs.push(
      ...this.#rules.check(this.#snapshot, {
        alarms: alarms.map((alarm) => ({ ...alarm, at: alarm.at + offMs, ringsAt: alarm.ringsAt + offMs })),
        // Until a process learns of it by an answer, alarms ring so much too early or too late.
        isExact: this.#outside.isExact && steppedMs === 0,
        graceMs: this.#outside.graceMs + steppedMs,
        since: isNew ? now : beginning + settledAt + Math.max(0, offMs),
        now,
        carries: ({ version }) => this.#fleet.carries(version),
        mostDispatches: (runId) => (this.#outside.taken?.(runId) ?? Number.POSITIVE_INFINITY) + this.#uncounted,
        mayBeDeleted: (runId) => this.#operators.of(runId).mayBeDeleted,
        isTakenOver: platform === "embedded",
        latest: this.#latest,
        isBeginning,
        calmAt: beginning + this.#calmAt + offMs,
        longestWaitMs: (dispatches) =>
          longestWaitMs({ ...this.#scenario, isHintLost: this.#passage.isHintLost }, dispatches),
        groupAt: this.#groupAt,
        steppedMs,
        // An isolate of a cron without alarms may be new at each ring, so that nothing knows of the clock as it was.
        lateMs: platform === "cron" ? steppedMs : this.#setAheadMs,
      }),
    );
  }

  #note(line: () => string): void {
    if (this.#onLine === undefined) return;
    this.#onLine(`${new Date(this.#now).toISOString().slice(5, 23).replace("T", " ")}  ${named(line())}`);
  }
}

/** How far each run has come. */
function positionsIn({ runs }: Snapshot): string {
  return runs.map(({ runId, status, turn, lastPosition }) => `${runId} ${status} ${turn} ${lastPosition}`).join();
}

/** Runs by their numbers. */
function named(line: string): string {
  return line
    .replace(/0{7}(\d)-0000-7000-8000-0{12}/g, "run $1")
    .replace(/0{7}(\d)-0000-7000-8000-0{11}(\d)/g, "fork $2 of run $1");
}

function runIdOf(index: number): string {
  return `0000000${index + 1}-0000-7000-8000-000000000000`;
}

function indexOf(runId: string): number {
  return Number(runId.slice(0, 8)) - 1;
}
