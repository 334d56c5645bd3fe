/**
 * A whole system for tests: the real engine and client on a real Postgres, with everything else in the test's hands.
 *
 *   const world = await World.begin(database, { workflows: [order.handler(…)] });
 *   const run = await world.start(order, { id: "o1" });
 *   expect(await world.run(run)).toMatchObject({ status: "completed" });
 *
 * One thing happens at a time: a call passes its port, a timer fires, an alarm rings, a dispatch is delivered. Time
 * passes only when nothing else is left to happen. So the same seed plays the same story, however fast the machine is.
 * After each statement that wrote and whenever time passes, the wake rule must hold (see watch.ts).
 */
import type { Contract, Duration, InputOf, Run, SignalsOf } from "layover";
import type { HistoryView } from "../../src/client/history-view.ts";
import { Client } from "../../src/client/over-postgres/client.ts";
import type { RunView } from "../../src/client/run-view.ts";
import type { StartOptions } from "../../src/client/starting.ts";
import type { InferInput } from "../../src/core/contract/schema.ts";
import type { StartArguments } from "../../src/core/contract/startable.ts";
import { toMilliseconds } from "../../src/core/duration.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { Chance } from "./chance.ts";
import { Course } from "./course.ts";
import { Errands } from "./errands.ts";
import { Fleet, isOneProcess } from "./fleet.ts";
import { beginning, Happenings } from "./happenings.ts";
import { type Delivery, Platform } from "./platform.ts";
import type { Process } from "./process.ts";
import { Watch } from "./watch.ts";
import { WorldNotes } from "./world-notes.ts";
import { type Fate, type PortCall, type WorldOptions, wrapped } from "./world-options.ts";

const defaultMostEvents = 50_000;
const clocks = new WeakMap<TestDatabase, Promise<Clock>>();
const lastWorlds = new WeakMap<TestDatabase, World>();
/**
 * How many worlds each database has had. They are counted by database, so that a file of tests plays the same whatever
 * was played before it in its process.
 */
const worlds = new WeakMap<TestDatabase, number>();

export class World extends WorldNotes {
  readonly namespace: string;
  readonly platform: Platform;
  readonly chance: Chance;
  /** Id of the deployment that gets all ticks, turns and questions. Default: each process gets some. */
  served: string | undefined;
  /** Ids of runs that the test has locked. The wake rule is not looked at for them. */
  readonly locked = new Set<string>();
  /** Decides what becomes of each call. */
  fate: (call: PortCall) => Fate | Promise<Fate> = () => "passes";
  readonly #database: TestDatabase;
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #reader: Client;
  readonly #fleet: Fleet;
  readonly #course: Course;
  readonly #errands: Errands;
  #deployedAt = beginning;
  /** How far the database's clock is ahead of the hosts'. */
  #offMs = 0;
  /** Whether that was ever changed. */
  #wasClockSet = false;

  static async begin(database: TestDatabase, options: WorldOptions): Promise<World> {
    const clock = clocks.get(database) ?? database.turnClock();
    clocks.set(database, clock);
    const world = new World(database, await clock, options);
    await (await clock).set(beginning);
    // A test that took too long must not turn the clock of the next one.
    const last = lastWorlds.get(database);
    if (last !== undefined) last.#course.isOver = true;
    lastWorlds.set(database, world);
    return world;
  }

  private constructor(database: TestDatabase, clock: Clock, options: WorldOptions) {
    super();
    this.#database = database;
    this.#clock = clock;
    const number = options.number ?? (worlds.get(database) ?? 0) + 1;
    if (options.number === undefined) worlds.set(database, number);
    this.namespace = `world-${number}`;
    this.chance = new Chance(options.seed ?? 1, number);
    const lateness = () => (options.isShuffled ? this.chance.below(120_000) : 0);
    const tellsInstants = !isOneProcess(options);
    this.platform = new Platform({ time: () => this.hostNow, lateness, batch: options.batch, tellsInstants });
    const { namespace, platform, chance } = this;
    const shared = { namespace, platform, chance, notes: this, time: () => this.time };
    this.#fleet = new Fleet(options, { ...shared, database, served: () => this.served });
    const fleet = this.#fleet;
    const sources = new Happenings({
      ...shared,
      fleet,
      turnTo: (time) => this.#course.turnTo(time),
      fate: (call) => this.fate(call),
      look: () => this.#look(),
    }).sources();
    this.#course = new Course({
      sources,
      isAtRest: () => fleet.processes.every(({ resting }) => resting === 0),
      turnTo: () => this.#clock.set(this.now),
      look: () => this.#look(),
      pick: options.isShuffled ? (happenings) => this.chance.pick(happenings) : undefined,
      mostEvents: options.mostEvents ?? defaultMostEvents,
      revive: () => fleet.respawn(),
    });
    this.#errands = new Errands({ fleet, platform, course: this.#course, notes: this, clocks: this });
    this.#watch = new Watch(database.pool, this.namespace);
    this.#reader = new Client({
      calls: makeCalls({
        query: wrapped(database.query, options),
        namespace: this.namespace,
        alarm: async () => {},
      }),
      dispatch: async () => {},
      wake: async () => {},
    });
    fleet.renew();
  }

  /** Milliseconds since the world began. */
  get time(): number {
    return this.#course.time;
  }

  /** The database's time, in epoch milliseconds. */
  get now(): number {
    return this.hostNow + this.#offMs;
  }

  /** The hosts' time, in epoch milliseconds. */
  get hostNow(): number {
    return beginning + this.time;
  }

  /** Sets the database's clock ahead, or back by a negative number, as a failover does. */
  async setClock(byMs: number): Promise<void> {
    this.#wasClockSet = true;
    this.#offMs += byMs;
    await this.#clock.set(this.now);
  }

  async start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<Run<C>> {
    const [input, options = {}] = args;
    const { runId = this.chance.uuid() } = options;
    // What StartArguments leaves out is undefined, which then is the contract's input.
    const all = [input as InputOf<C>, { ...options, runId }] as unknown as StartArguments<C, StartOptions>;
    return await this.ask((client) => client.start(contract, ...all));
  }

  async signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    run: Pick<Run<C>, "runId">,
    contract: C,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    { signalId = this.chance.uuid() }: { readonly signalId?: string } = {},
  ): Promise<void> {
    await this.ask((client) => client.signal(run.runId, name, payload, { contract, signalId }));
  }

  /** Asks something of the system from outside. Asks again where the process dies over it. */
  ask<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    return this.#errands.ask(question);
  }

  /** Lets time pass until these runs are over or blocked, or nothing is left to happen. Answers the first run. */
  async run(...runs: readonly { readonly runId: string }[]): Promise<RunView> {
    const ids = runs.map(({ runId }) => runId);
    const isDone = async () => {
      const { rows } = await this.#database.pool.query(
        "select from layover.run_state where run_id = any($1) and ended_at is null and blocked is null",
        [ids],
      );
      return rows.length === 0;
    };
    while (await this.#course.moment(Number.POSITIVE_INFINITY)) if (await isDone()) break;
    return await this.get(ids[0] ?? "");
  }

  /** Lets everything happen that happens within this time. */
  async pass(duration: Duration): Promise<void> {
    const until = this.time + toMilliseconds(duration);
    while (await this.#course.moment(until));
    if (!this.#course.isOver) await this.#course.turnTo(until);
  }

  /** Lets everything happen that takes no time. */
  async settle(): Promise<void> {
    await this.pass(0);
  }

  get(runId: string): Promise<RunView> {
    return this.#reader.get(runId);
  }

  history(run: { readonly runId: string }): Promise<HistoryView> {
    return this.#reader.history(run.runId);
  }

  /**
   * Resolves after this time, as something that a body or handler awaits and that is no step. Without a time it never
   * does.
   */
  foreign(duration?: Duration): Promise<void> {
    const [process] = this.#fleet.processes;
    return new Promise((resolve) => {
      if (duration !== undefined) process?.timers.after(toMilliseconds(duration), resolve);
    });
  }

  /** Kills a process. What it held in memory is gone. */
  crash(process?: Process): void {
    this.#fleet.crash(process);
  }

  /** Has a process give its leases back, as one does that was asked to end and whose grace is over. */
  giveBack(process?: Process): Promise<void> {
    return this.#errands.giveBack(process);
  }

  /** Kills the process of the body or handler that calls it, and never resolves. */
  die(): Promise<never> {
    this.crash();
    return new Promise(() => {});
  }

  /** Deploys new code in new processes, which begin with a tick of their own. Alarms in memory die with the old ones. */
  async deploy(options: Partial<WorldOptions>): Promise<void> {
    const fleet = this.#fleet;
    fleet.die();
    fleet.options = { ...fleet.options, ...options };
    this.#deployedAt = this.now;
    fleet.renew();
    if (!fleet.isOneProcess) return await this.tick({ isFirst: true });
    this.platform.alarms = [];
    await this.#errands.beginAll();
  }

  /** Carries out a tick that nobody armed. */
  tick(options: { readonly isFirst?: boolean } = {}): Promise<void> {
    return this.#errands.tick(options);
  }

  /** Ends all processes of this world, and deletes its rows. */
  async end(): Promise<void> {
    this.#fleet.die();
    const all = "select layover.delete_rows(id) from layover.run where namespace = $1 order by depth"; // parents first
    await this.#database.pool.query(all, [this.namespace]);
  }

  /** Deliveries that no process has taken yet. */
  get deliveries(): readonly Delivery[] {
    return this.platform.deliveries;
  }

  /**
   * Whether each instant has an alarm of its own. Only the process that has armed it arms it anew when the database's clock
   * was set. For others the alarm may have rung too early, and the tick of an earlier alarm arms the instant.
   */
  get #isExact(): boolean {
    return !this.#fleet.isOneProcess && !(this.#wasClockSet && this.#fleet.born > 1);
  }

  /** The database itself, to look at what no view shows. */
  get database(): TestDatabase {
    return this.#database;
  }

  async #look(): Promise<void> {
    const { isBeginning, options } = this.#fleet;
    if (isBeginning) return; // a Node process arms again what died with the last one
    await this.#watch.look({
      alarms: this.platform.alarms,
      workflows: options.workflows,
      environment: options.environment ?? "default",
      endpoint: options.endpoint ?? this.#database.query.endpoint,
      since: this.#deployedAt,
      now: this.now,
      isExact: this.#isExact,
      firesNothing: options.timeOfDay !== undefined,
      locked: this.locked,
    });
  }
}
