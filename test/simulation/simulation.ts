/**
 * Plays a scenario: the real engine, client, tick and SQL on a real Postgres, in a world in which everything else is
 * drawn from one seed: what happens next, what becomes of each call, when platforms deliver, what time hosts believe it
 * is. After each event the rules must hold (rules.ts), at the end every run must be right (verdict.ts).
 *
 *   const report = await simulate(site, scenario);
 *   expect(report.wrongs).toEqual([]);
 */
import { Chance } from "../engine/chance.ts";
import { Course, earliest } from "../engine/course.ts";
import { Process } from "../engine/process.ts";
import { Court } from "./court.ts";
import { describeAnswer, describeCall } from "./describe.ts";
import { Faults, noneMet } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { Lookout } from "./lookout.ts";
import { Movers } from "./movers.ts";
import { Operators } from "./operators.ts";
import type { Outside } from "./outside/outside.ts";
import { outsideOf } from "./outside/platforms.ts";
import { Passage } from "./passage.ts";
import { Patience } from "./patience.ts";
import { People } from "./people.ts";
import { type ProgramContract, programOf } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { drainObjection, isSteady } from "./recovery.ts";
import type { Report } from "./report.ts";
import { indexOf, numbered, runIdOf } from "./run-ids.ts";
import type { Scenario } from "./scenario.ts";
import { Senders } from "./senders.ts";
import { ServerClock } from "./server-clock.ts";
import type { Site } from "./site.ts";
import { TroubleSoFar } from "./trouble-so-far.ts";
import { UnplayedSweeps } from "./unplayed-sweeps.ts";
import { Values } from "./values.ts";
import { Witness } from "./witness.ts";
import { worldOfBodies } from "./world-of-bodies.ts";

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
  readonly #lookout: Lookout;
  readonly #sweeps: UnplayedSweeps;
  readonly #values = new Values();
  readonly #contracts: readonly ProgramContract[];
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
      rowsOf: (runId) => this.#lookout.rowsOf(runId),
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
      childrenOf: (runId) => this.#lookout.rowsOf(runId)?.children.map((child) => child.runId) ?? [],
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
    this.#sweeps = new UnplayedSweeps({ time, clock: this.#clock, outside: this.#outside, pool: site.pool });
    this.#lookout = new Lookout(this.#watched());
    this.#course = new Course({
      sources: [this.#fleet, this.#passage, this.#outside, this.#patience, this.#clock],
      isAtRest: () => this.#fleet.isAtRest,
      turnTo: async () => await this.#sweeps.pass(),
      look: async () => this.#lookout.check(),
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
      look: () => this.#lookout.look(),
      onCall: (call) => this.#witness.noteCall(call),
      note: (said) => this.#note(said),
      line,
      describe: describeCall,
      describeAnswer,
    };
  }

  /** What is looked at after each event. */
  #watched(): ConstructorParameters<typeof Lookout>[0] {
    return {
      line: this.#site.line,
      scenario: this.#scenario,
      beginning,
      time: () => this.#course.time,
      clock: this.#clock,
      fleet: this.#fleet,
      outside: this.#outside,
      passage: this.#passage,
      operators: this.#operators,
      trouble: this.#trouble,
      values: this.#values,
      object: (wrongs) => this.#wrongs.push(...wrongs),
      note: this.#onLine === undefined ? undefined : (line) => this.#note(line),
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
    const drain = {
      calmAt: this.#trouble.calmAt,
      movedAt: this.#lookout.movedAt,
      isHintLost: this.#passage.isHintLost,
    };
    return { wrongs: this.#wrongs, events, statements, waits, faults: this.#faults.met, deaths, time, drain };
  }

  /** Nothing is left to happen. */
  async #judge(): Promise<void> {
    const wrongs = this.#wrongs;
    if (this.#course.next() !== undefined) wrongs.push(`after ${longestMs / 86_400_000} days it is not quiet`);
    if (this.#patience.busy > 0) wrongs.push("somebody outside waits for an answer for ever");
    if (this.#site.sessions.isAnyLent) wrongs.push("a transaction stands open");
    wrongs.push(...this.#patience.wrongs);
    await this.#lookout.look();
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
      rowsOf: (runId) => this.#lookout.rowsOf(runId),
      textOf: (text) => this.#values.textOf(text),
    });
    wrongs.push(...(await court.judge()), ...(await this.#values.judge(this.#site.pool)));
  }

  get #now(): number {
    return beginning + this.#course.time;
  }

  #contractOf(runId: string): ProgramContract {
    const contract = this.#contracts[indexOf(runId)];
    if (contract === undefined) throw new Error(`there is no run ${runId}`);
    return contract;
  }

  #world(): ProgramWorld {
    return worldOfBodies({
      witness: this.#witness,
      fleet: () => this.#fleet,
      people: () => this.#people,
      contractOf: (runId) => this.#contractOf(runId),
    });
  }

  #dueAt(): number | undefined {
    if (this.#fleet.isNew) return beginning;
    const { runs, kept } = this.#lookout.snapshot;
    const carried = runs.filter(({ version }) => this.#fleet.carries(version));
    return earliest([...carried, ...kept].map(({ due }) => (due === null ? undefined : due - this.#clock.offMs)));
  }

  #note(line: () => string): void {
    if (this.#onLine === undefined) return;
    this.#onLine(`${new Date(this.#now).toISOString().slice(5, 23).replace("T", " ")}  ${numbered(line())}`);
  }
}
