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
import { QueryError } from "../../src/core/ports.ts";
import type { LayoverEvent, LogEntry } from "../../src/engine/events.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { beginningsIn } from "./beginnings.ts";
import { Chance } from "./chance.ts";
import { Course, earliest, type Source } from "./course.ts";
import type { Waiting } from "./mortal.ts";
import { type Delivery, Platform } from "./platform.ts";
import { bare, Process } from "./process.ts";
import { Watch } from "./watch.ts";
import { type Fate, type PortCall, type WorldOptions, wrapped } from "./world-options.ts";

const beginning = Date.UTC(2026, 0, 1, 12);
const defaultMostEvents = 50_000;
const mostLatencyMs = 40;
/** SQL functions that change nothing. */
const reading = new Set([
  "read_clock",
  "list_due",
  "get_run",
  "list_runs",
  "get_history",
  "read_replay",
  "read_mail",
  "read_callback",
]);
const clocks = new WeakMap<TestDatabase, Promise<Clock>>();
const lastWorlds = new WeakMap<TestDatabase, World>();
let worlds = 0;

export class World {
  readonly namespace: string;
  readonly platform: Platform;
  readonly chance: Chance;
  /** Every call that came to a port. */
  readonly calls: PortCall[] = [];
  /** What handlers logged. */
  readonly logs: LogEntry[] = [];
  /** What the engine told of its runs. */
  readonly events: LayoverEvent[] = [];
  /** What the engine reported as going wrong. */
  readonly errors: { readonly error: unknown; readonly doing: string }[] = [];
  /** How many invocations were begun. */
  invocations = 0;
  deaths = 0;
  /** The leases of turns that were about to begin alone. */
  readonly beginnings = new Set<string>();
  /** Id of the deployment that gets all ticks, turns and questions. Default: each process gets some. */
  served: string | undefined;
  /** Decides what becomes of each call. */
  fate: (call: PortCall) => Fate | Promise<Fate> = () => "passes";
  readonly #database: TestDatabase;
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #reader: Client;
  readonly #counts = { query: 0, dispatch: 0, alarm: 0, store: 0 };
  #options: WorldOptions;
  #processes: Process[] = [];
  readonly #course: Course;
  #turn = 0;
  #isBeginning = false;
  #deployedAt = beginning;
  /** How far the database's clock is ahead of the hosts'. */
  #offMs = 0;
  /** Whether that was ever changed. */
  #wasClockSet = false;
  /** How many processes there were. */
  #born = 0;

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
    this.#database = database;
    this.#clock = clock;
    this.#options = options;
    const number = options.number ?? ++worlds;
    this.namespace = `world-${number}`;
    this.chance = new Chance(options.seed ?? 1, number);
    const lateness = () => (options.isShuffled ? this.chance.below(120_000) : 0);
    const tellsInstants = !this.#isOneProcess;
    this.platform = new Platform({ time: () => this.hostNow, lateness, batch: options.batch, tellsInstants });
    this.#course = new Course({
      sources: this.#sources(),
      isAtRest: () => this.#processes.every(({ resting }) => resting === 0),
      turnTo: () => this.#clock.set(this.now),
      look: () => this.#look(),
      pick: options.isShuffled ? (happenings) => this.chance.pick(happenings) : undefined,
      mostEvents: options.mostEvents ?? defaultMostEvents,
      revive: () => this.#respawn(),
    });
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
    this.#processes = this.#newProcesses();
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

  /** Answers how many calls of this SQL function were made; without a name, of all. */
  statements(name?: string): number {
    return this.calls.filter(({ port, what }) => port === "query" && (name === undefined || what === name)).length;
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
  async ask<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    for (;;) {
      this.#respawn();
      const asked = this.#nextProcess();
      let outcome: (() => Answer) | undefined;
      question(asked.client).then(
        (answer) => {
          outcome = () => answer;
        },
        (error: unknown) => {
          outcome = () => {
            throw error;
          };
        },
      );
      while (!asked.isDead) {
        await this.#course.rest();
        if (outcome !== undefined) return outcome();
        if (!(await this.#course.event(Number.POSITIVE_INFINITY))) throw this.#lost("a question is never answered");
      }
    }
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
    const [process] = this.#processes;
    return new Promise((resolve) => {
      if (duration !== undefined) process?.timers.after(toMilliseconds(duration), resolve);
    });
  }

  /** Kills a process. What it held in memory is gone. */
  crash(process = this.#processes[0]): void {
    if (process === undefined || process.isDead) return;
    this.deaths += 1;
    process.die();
    this.platform.lose(process, { andAlarms: this.#isOneProcess });
    this.#isBeginning ||= this.#isOneProcess;
  }

  /** Has a process give its leases back, as one does that was asked to end and whose grace is over. */
  async giveBack(process = this.#processes[0]): Promise<void> {
    if (process === undefined) return;
    let isOver = false;
    process.engine.close();
    void process.engine.giveBack().then(() => {
      isOver = true;
    });
    while (!isOver) {
      await this.#course.rest();
      if (!isOver && !(await this.#course.event(Number.POSITIVE_INFINITY)))
        throw this.#lost("leases are never given back");
    }
  }

  /** Kills the process of the body or handler that calls it, and never resolves. */
  die(): Promise<never> {
    this.crash();
    return new Promise(() => {});
  }

  /** Deploys new code in new processes, which begin with a tick of their own. Alarms in memory die with the old ones. */
  async deploy(options: Partial<WorldOptions>): Promise<void> {
    for (const process of this.#processes) process.die();
    this.#options = { ...this.#options, ...options };
    this.#deployedAt = this.now;
    this.#processes = this.#newProcesses();
    if (!this.#isOneProcess) return await this.tick({ isFirst: true });
    this.platform.alarms = [];
    this.#isBeginning = true;
    for (const process of this.#processes) this.#takeOver(process);
    while (this.#isBeginning) {
      await this.#course.rest();
      if (this.#isBeginning && !(await this.#course.event(Number.POSITIVE_INFINITY)))
        throw this.#lost("a process never begins");
    }
  }

  /** Carries out a tick that nobody armed. */
  async tick(options: { readonly isFirst?: boolean } = {}): Promise<void> {
    const process = this.#nextProcess();
    const unarmed = { at: this.now, ringsAt: this.hostNow, isRinging: true, isUnarmed: true };
    this.platform.alarms.push(unarmed);
    const over = () => {
      this.platform.alarms = this.platform.alarms.filter((other) => other !== unarmed);
    };
    process.tick(options).then(over, over);
    while (this.platform.alarms.includes(unarmed) && !process.isDead) {
      await this.#course.rest();
      if (this.platform.alarms.includes(unarmed) && !(await this.#course.event(Number.POSITIVE_INFINITY))) {
        throw this.#lost("a tick never ends");
      }
    }
    over();
  }

  /** Ends all processes of this world, and deletes its rows. */
  async end(): Promise<void> {
    for (const process of this.#processes) process.die();
    const all = "select layover.delete_rows(run_id) from layover.run_state where namespace = $1";
    await this.#database.pool.query(all, [this.namespace]);
  }

  /** Deliveries that no process has taken yet. */
  get deliveries(): readonly Delivery[] {
    return this.platform.deliveries;
  }

  get #isOneProcess(): boolean {
    return this.#options.platform === "node" || this.#options.platform === "embedded";
  }

  /**
   * Whether each instant has an alarm of its own. Only the process that has armed it arms it anew when the database's clock
   * was set. For others the alarm may have rung too early, and the tick of an earlier alarm arms the instant.
   */
  get #isExact(): boolean {
    return !this.#isOneProcess && !(this.#wasClockSet && this.#born > 1);
  }

  /** The database itself, to look at what no view shows. */
  get database(): TestDatabase {
    return this.#database;
  }

  /**
   * Answers what may happen: waiting calls, timers, alarms, dispatches. They come in this order and not in that of
   * their arrival, which hangs on microtasks.
   */
  #sources(): readonly Source[] {
    const { platform } = this;
    return [
      {
        happenings: () =>
          this.#processes.flatMap((owner) =>
            owner.waiting
              .toSorted(byName)
              .map((call) => ({ what: () => call.what, act: () => this.#letPass(owner, call) })),
          ),
        next: () => undefined,
      },
      {
        happenings: () =>
          this.#processes
            .filter(({ timers }) => (timers.next ?? Number.POSITIVE_INFINITY) <= this.time)
            .map(({ timers }) => ({ what: () => "a timer fires", act: () => void timers.fire() })),
        next: () => earliest(this.#processes.map(({ timers }) => timers.next)),
      },
      {
        happenings: () => [
          ...platform.dueAlarms.map((alarm) => ({
            what: () => "an alarm rings",
            act: () => platform.ring(alarm, this.#nextProcess()),
          })),
          ...platform.dueDeliveries
            .filter((delivery) => this.#takersOf(delivery).length > 0)
            .map((delivery) => ({ what: () => "turns are delivered", act: () => this.#deliver(delivery) })),
        ],
        next: () => (platform.next === undefined ? undefined : platform.next - beginning),
      },
    ];
  }

  async #letPass(owner: Process, call: Waiting): Promise<void> {
    owner.waiting = owner.waiting.filter((other) => other !== call);
    const { port, what } = call;
    const passing = { port, what, number: ++this.#counts[port] };
    this.calls.push(passing);
    for (const { token } of beginningsIn(call)) this.beginnings.add(token);
    const fate = await this.fate(passing);
    if (fate === "dies before") return this.crash(owner);
    if (fate === "fails before") return call.reject(lost(true));
    // A statement takes time, which the database sees pass before it answers.
    if (port === "query" && this.#options.isShuffled)
      await this.#course.turnTo(this.time + this.chance.below(mostLatencyMs));
    const tell = await call.act();
    if (port === "query" && !reading.has(what)) await this.#look();
    if (fate === "is never answered") return;
    if (fate === "dies after") return this.crash(owner);
    if (fate === "fails after") return call.reject(lost(false));
    tell();
  }

  #takersOf({ turns }: Delivery): readonly Process[] {
    return this.#processes.filter((process) => this.#isServed(process) && process.takes(turns));
  }

  #deliver(delivery: Delivery): void {
    this.invocations += 1;
    const takers = this.#takersOf(delivery);
    void takers[this.#turn++ % takers.length]?.carryOut(this.platform.take(delivery));
  }

  #respawn(): boolean {
    if (!this.#processes.some(({ isDead }) => isDead)) return false;
    this.#processes = this.#processes.map((process, index) => {
      if (!process.isDead) return process;
      const next = this.#newProcess(index);
      if (this.#isOneProcess) this.#takeOver(next);
      return next;
    });
    return true;
  }

  /** Begins a process as Node does: with a tick, which arms again what died with the last process. */
  #takeOver(next: Process): void {
    const isExclusive = this.#options.platform === "embedded";
    const begun = () => {
      this.#isBeginning = false;
    };
    const tick = () => {
      next.isBeginning = false;
      return next.tick({ isFirst: true, isExclusive, looksAhead: true });
    };
    const begin = () => (isExclusive ? next.calls.voidLeases().then(tick) : tick());
    // As a host does it, it tries again until it succeeds.
    const again = (): void => void begin().then(begun, () => (next.isDead ? begun() : next.timers.after(1_000, again)));
    next.isBeginning = true;
    again();
  }

  #nextProcess(): Process {
    const taking = this.#processes.filter((process) => this.#isServed(process));
    const process = taking[this.#turn++ % taking.length];
    if (process === undefined) throw new Error("there is no process");
    return process;
  }

  #isServed({ deployment }: Process): boolean {
    return this.served === undefined || deployment?.id === this.served;
  }

  #newProcesses(): Process[] {
    const { processes = 1, beside = [] } = this.#options;
    return Array.from({ length: Math.max(processes, 1 + beside.length) }, (_, index) => this.#newProcess(index));
  }

  #newProcess(index: number): Process {
    this.#born += 1;
    const { workflows, schedules, deployment, keys } = this.#options.beside?.[index - 1] ?? this.#options;
    const { hasNoAddress, timeOfDay, warmRuns, invocation, environment, leaseMs, keepMs, keepFailedMs } = this.#options;
    const { telemetry, values } = this.#options;
    const query = wrapped(this.#database.query, { keys, values });
    return new Process({
      workflows,
      schedules,
      timeOfDay,
      hasNoAddress,
      warmRuns,
      invocation,
      environment,
      deployment,
      leaseMs,
      keepMs,
      keepFailedMs,
      telemetry,
      namespace: this.namespace,
      query: Object.assign((...call: Parameters<typeof query>) => query(...call), {
        endpoint: this.#options.endpoint ?? query.endpoint,
        transact: query.transact,
        sealing: query.sealing,
      }),
      ports: bare({ dispatch: this.platform.dispatch, alarm: this.platform.arm }),
      time: () => this.time,
      random: this.chance.next,
      newToken: this.chance.uuid,
      onLog: (entry) => this.logs.push(entry),
      onEvent: (event) => {
        telemetry?.onEvent(event);
        this.events.push(event);
      },
      onError: (error, doing) => this.errors.push({ error, doing }),
    });
  }

  async #look(): Promise<void> {
    if (this.#isBeginning) return; // a Node process arms again what died with the last one
    await this.#watch.look({
      alarms: this.platform.alarms,
      workflows: this.#options.workflows,
      environment: this.#options.environment ?? "default",
      endpoint: this.#options.endpoint ?? this.#database.query.endpoint,
      since: this.#deployedAt,
      now: this.now,
      isExact: this.#isExact,
      firesNothing: this.#options.timeOfDay !== undefined,
    });
  }

  #lost(why: string): Error {
    const last = this.calls.slice(-20).map(({ port, what, number }) => `${port} ${number}: ${what}`);
    return new Error(`${why}; the last calls:\n${last.join("\n")}`);
  }
}

function byName(one: Waiting, other: Waiting): number {
  const [a, b] = [`${one.port} ${one.what}`, `${other.port} ${other.what}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

function lost(isRolledBack: boolean): QueryError {
  return new QueryError("the connection broke", { isRolledBack });
}
