/**
 * Plays a scenario: the real engine, client, tick and SQL on a real Postgres, in a world in which everything else is
 * drawn from one seed: what happens next, what becomes of each call, when platforms deliver, what time hosts believe it
 * is. After each event the rules must hold (rules.ts), at the end every run must be right (verdict.ts).
 *
 *   const report = await simulate(site, scenario);
 *   expect(report.wrongs).toEqual([]);
 */
import { sweepMs } from "../../src/core/waking.ts";
import { Chance } from "../engine/chance.ts";
import { Course, earliest } from "../engine/course.ts";
import { atWork } from "../engine/mortal.ts";
import { Process } from "../engine/process.ts";
import { Court } from "./court.ts";
import { describeAnswer, describeCall, describeRun } from "./describe.ts";
import { type Fate, Faults, noneMet } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { Movers } from "./movers.ts";
import { Operators } from "./operators.ts";
import type { Outside } from "./outside/outside.ts";
import { outsideOf } from "./outside/platforms.ts";
import { Passage } from "./passage.ts";
import { Patience } from "./patience.ts";
import { People } from "./people.ts";
import { type ProgramContract, programOf } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { type Drain, drainObjection, isSteady, longestWaitMs } from "./recovery.ts";
import { Rules } from "./rules.ts";
import { indexOf, numbered, runIdOf } from "./run-ids.ts";
import type { Scenario } from "./scenario.ts";
import { Senders } from "./senders.ts";
import { ServerClock } from "./server-clock.ts";
import type { Site } from "./site.ts";
import type { RunRows, Snapshot } from "./snapshot.ts";
import { TroubleSoFar } from "./trouble-so-far.ts";
import { Values } from "./values.ts";
import { Witness } from "./witness.ts";

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
  await site.turnTo(beginning);
  return await new Simulation(site, scenario, options).play();
}

class Simulation {
  readonly #site: Site;
  readonly #scenario: Scenario;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #course: Course;
  readonly #clock: ServerClock;
  readonly #fleet: Fleet;
  readonly #faults: Faults;
  readonly #outside: Outside;
  readonly #passage: Passage;
  readonly #patience: Patience;
  readonly #people: People;
  readonly #senders: Senders;
  readonly #operators: Operators;
  readonly #movers: Movers;
  readonly #witness: Witness;
  readonly #trouble: TroubleSoFar;
  readonly #rules = new Rules();
  readonly #values = new Values();
  readonly #contracts: readonly ProgramContract[];
  /** When a group of suspects was under way the last time; the database's. */
  #groupAt = 0;
  /** When something happened the last time; the world's. */
  #passedAt = 0;
  /** When a run moved the last time; the world's. */
  #movedAt = 0;
  #snapshot: Snapshot = { orphans: 0, bare: 0, runs: [], kept: [] };
  readonly #wrongs: string[] = [];

  constructor(site: Site, scenario: Scenario, { onLine }: SimulateOptions) {
    this.#site = site;
    this.#scenario = scenario;
    this.#onLine = onLine;
    this.#contracts = scenario.runs.map(({ timeoutMs }, index) => programOf(index + 1, timeoutMs));
    const chance = new Chance(scenario.seed, 1);
    const time = () => this.#course.time;
    const note = (line: () => string) => this.#note(line);
    this.#clock = new ServerClock({ steps: scenario.clockSteps, time, beginning, set: (at) => site.turnTo(at) });
    this.#witness = new Witness({
      rowsOf: (runId) => this.#rowsOf(runId),
      areLeasesCut: () => this.#trouble.areLeasesCut,
      object: (wrong) => this.#wrongs.push(wrong),
    });
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
      values: this.#values,
      note,
    });
    this.#outside = outsideOf(scenario.platform, this.#surroundings(chance));
    this.#passage = new Passage(this.#waysOfCalls(chance));
    this.#patience = new Patience({ time, chance, processes: () => this.#fleet.takers, note });
    const patience = this.#patience;
    this.#people = new People({ patience, passage: this.#passage, sessions: site.sessions, note });
    this.#senders = new Senders(patience);
    this.#movers = new Movers(patience);
    this.#operators = new Operators({
      patience,
      movers: this.#movers,
      onSignal: (runId, letter) => this.#people.noteSignal(runId, letter),
    });
    this.#trouble = new TroubleSoFar({
      scenario,
      faults: this.#faults,
      fleet: this.#fleet,
      passage: this.#passage,
      outside: this.#outside,
      clock: this.#clock,
      beginning,
    });
    this.#course = new Course({
      sources: [this.#fleet, this.#passage, this.#outside, this.#patience, this.#clock],
      isAtRest: () => this.#fleet.isAtRest,
      turnTo: async () => await this.#pass(),
      look: async () => this.#check(),
      pick: (happenings) => chance.pick(happenings),
      mostEvents,
      onHappening: ({ what }) => this.#note(what),
      revive: () => this.#fleet.revive(),
    });
  }

  /** What the platform outside is told of, and what it does to processes. */
  #surroundings(chance: Chance): Parameters<typeof outsideOf>[1] {
    const scenario = this.#scenario;
    return {
      now: () => this.#now,
      timeOf: (at) => at - beginning,
      below: (bound) => chance.below(bound),
      processes: () => this.#fleet.takers.filter((process) => process instanceof Process),
      another: () => this.#fleet.another(),
      crash: (process) => this.#fleet.crash(process),
      tick: (process) => this.#fleet.tick(process),
      hasTicked: (deployment) => this.#fleet.settle(deployment),
      looksAhead: (process) => this.#fleet.looksAhead(process),
      dueAt: () => this.#dueAt(),
      refusal: scenario.refusal,
      releases: scenario.releases,
      released: () => this.#fleet.noteRelease(),
      deployment: () => this.#fleet.deployment,
    };
  }

  /** How calls go to the database, and who sees them. */
  #waysOfCalls(chance: Chance): ConstructorParameters<typeof Passage>[0] {
    const { sessions, line } = this.#site;
    return {
      course: () => this.#course,
      chance,
      faults: this.#faults,
      sessions,
      processes: () => this.#fleet.all,
      crash: (process) => this.#fleet.crash(process),
      look: () => this.#look(),
      onCall: (call) => this.#witness.noteCall(call),
      note: (said) => this.#note(said),
      line,
      describe: describeCall,
      describeAnswer,
    };
  }

  async play(): Promise<Report> {
    const { runs } = this.#scenario;
    try {
      for (const [index, plan] of runs.entries()) {
        const runId = runIdOf(index);
        const contract = this.#contractOf(runId);
        this.#people.start(contract, runId, plan);
        for (const letter of plan.deliveries) this.#senders.deliver(contract, runId, letter);
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
    const drain = { calmAt: this.#trouble.calmAt, movedAt: this.#movedAt, isHintLost: this.#passage.isHintLost };
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
    const court = new Court({
      scenario: this.#scenario,
      pool: this.#site.pool,
      people: this.#people,
      senders: this.#senders,
      operators: this.#operators,
      movers: this.#movers,
      witness: this.#witness,
      trouble: this.#trouble,
      contractOf: (runId) => this.#contractOf(runId),
      rowsOf: (runId) => this.#rowsOf(runId),
      textOf: (text) => this.#values.textOf(text),
    });
    wrongs.push(...(await court.judge()), ...(await this.#values.judge(this.#site.pool)));
  }

  #rowsOf(runId: string): RunRows | undefined {
    return this.#snapshot.runs.find((run) => run.runId === runId);
  }

  get #now(): number {
    return beginning + this.#course.time;
  }

  #contractOf(runId: string): ProgramContract {
    const contract = this.#contracts[indexOf(runId)];
    if (contract === undefined) throw new Error(`there is no run ${runId}`);
    return contract;
  }

  /** What bodies ask of it. */
  #world(): ProgramWorld {
    const witness = this.#witness;
    return {
      onBody: (runId, key, isCleanup) => witness.noteBody(runId, key, isCleanup),
      onBodyOfOnce: (runId, key) => witness.noteOnce(runId, key),
      onStatus: (runId, status) => witness.noteStatus(runId, status),
      onReturn: (runId, version) => witness.noteReturn(runId, version),
      ledger: witness.ledger,
      nextTry: (what) => witness.nextTry(what),
      die: () => {
        const process = atWork.getStore();
        if (process !== undefined) this.#fleet.crash(process);
        return new Promise(() => {});
      },
      foreign: (ms) =>
        new Promise((resolve) => {
          if (ms !== undefined) atWork.getStore()?.timers.after(ms, resolve);
        }),
      beckon: (letter) => this.#people.beckon(this.#contractOf(letter.runId), letter),
      invite: (invitation) => this.#people.invite(this.#contractOf(invitation.runId), invitation),
    };
  }

  #dueAt(): number | undefined {
    if (this.#fleet.isNew) return beginning;
    const { runs, kept } = this.#snapshot;
    const carried = runs.filter(({ version }) => this.#fleet.carries(version));
    return earliest([...carried, ...kept].map(({ due }) => (due === null ? undefined : due - this.#clock.offMs)));
  }

  /**
   * Time has passed. Sweeps that would find nothing are left out. What they would have written is written here: their deployments are seen
   * by the others.
   */
  async #pass(): Promise<void> {
    await this.#clock.turn();
    const { time } = this.#course;
    const isLong = time - this.#passedAt > sweepMs;
    this.#passedAt = time;
    const sweeping = isLong ? (this.#outside.sweeping?.() ?? []) : [];
    if (sweeping.length === 0) return;
    await this.#site.pool.query(
      `update layover.deployment d set seen_at = greatest(d.seen_at, to_timestamp($1::float8 / 1000)) from json_to_recordset($2) as o (name text, id text)
        where d.name = o.name and d.id = o.id`,
      [this.#clock.read() - sweepMs / 2, JSON.stringify(sweeping)],
    );
  }

  /** Something may have changed the rows. */
  async #look(): Promise<void> {
    const before = this.#snapshot;
    this.#snapshot = this.#values.opened(await this.#site.line.look());
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
    const now = this.#clock.read();
    const { offMs, steppedMs, setAheadMs, latest } = this.#clock;
    const { platform } = this.#scenario;
    const { rungInVainAt } = this.#outside;
    const alarms = this.#outside.standing();
    if (this.#fleet.hasGroup) this.#groupAt = now;
    this.#wrongs.push(
      ...this.#rules.check(this.#snapshot, {
        alarms: alarms.map((alarm) => ({ ...alarm, at: alarm.at + offMs, ringsAt: alarm.ringsAt + offMs })),
        // Until a process learns of it by an answer, alarms ring so much too early or too late.
        isExact: this.#outside.isExact && steppedMs === 0,
        graceMs: this.#outside.graceMs + steppedMs,
        rungInVainAt: rungInVainAt === undefined ? undefined : rungInVainAt + offMs,
        since: isNew ? now : beginning + settledAt + Math.max(0, offMs),
        now,
        carries: ({ version }) => this.#fleet.carries(version),
        mostDispatches: (runId) => (this.#outside.taken?.(runId) ?? Number.POSITIVE_INFINITY) + this.#trouble.uncounted,
        mayBeDeleted: (runId) => this.#operators.of(runId).mayBeDeleted,
        isTakenOver: platform === "embedded",
        latest,
        isBeginning,
        calmAt: beginning + this.#trouble.calmAt + offMs,
        longestWaitMs: (dispatches) =>
          longestWaitMs({ ...this.#scenario, isHintLost: this.#passage.isHintLost }, dispatches),
        groupAt: this.#groupAt,
        steppedMs,
        // An isolate of a cron without alarms may be new at each ring, so that nothing knows of the clock as it was.
        lateMs: platform === "cron" ? steppedMs : setAheadMs,
      }),
    );
  }

  #note(line: () => string): void {
    if (this.#onLine === undefined) return;
    this.#onLine(`${new Date(this.#now).toISOString().slice(5, 23).replace("T", " ")}  ${numbered(line())}`);
  }
}

/** How far each run has come. */
function positionsIn({ runs }: Snapshot): string {
  return runs.map(({ runId, status, turn, lastPosition }) => `${runId} ${status} ${turn} ${lastPosition}`).join();
}
