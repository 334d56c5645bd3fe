/**
 * The stage of a test's engine. It carries out what is due, one thing after the other, and turns the clock when it is
 * told to. So a test plays the same story each time, however fast the machine is.
 */
import { Client } from "../client/over-postgres/client.ts";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import type { Query } from "../core/ports.ts";
import type { LogEntry } from "../engine/events.ts";
import { callbackOpener, callbackSealer } from "../http/callback-token.ts";
import { Secrets } from "../http/secrets.ts";
import { makeCalls } from "../postgres/calls.ts";
import { openTestDatabase, type TestDatabase } from "./database.ts";
import { Determinism } from "./determinism.ts";
import { engineFailed, neverEnds, TestKitError } from "./kit-error.ts";
import { MadeCallbacks } from "./made-callbacks.ts";
import { inUsualWorld } from "./other-worlds.ts";
import { Process } from "./process.ts";
import { type OnMissingStub, StubUse } from "./stub-use.ts";
import { checkStubs, type Stubs } from "./stubs.ts";
import { macrotask, realPause } from "./timers.ts";
import { warmUp, warmUpWorkflow } from "./warm-up.ts";
import { type Wrap, wrappedBy } from "./wrapping.ts";

export interface StageOptions {
  readonly workflows: readonly Workflow[];
  readonly schedules: readonly Schedule[];
  readonly stubs: Stubs;
  readonly onMissingStub: OnMissingStub;
  /** What time it is at first, in epoch milliseconds. */
  readonly now: number;
  readonly patienceMs: number;
  /** Whether each run is replayed in other worlds. */
  readonly checksDeterminism: boolean;
  readonly wrap: Wrap;
}

interface Terms {
  /** How many turns to begin. Default: all that are due. */
  readonly turns?: number;
  /** A body that does not end is left alone instead of being an error. */
  readonly mayHang?: boolean;
}

const secrets = new Secrets(["the test kit's root secret: it protects nothing"]);
const publicUrl = "https://layover.test";
/** A history has 10,000 records at most. */
const mostAtOneInstant = 50_000;
/** Most bodies that await something real are done within a few macrotasks; the others are looked at now and then. */
const eagerRounds = 20;
const roundMs = 5;
let stages = 0;
let warm: Promise<void> | undefined;

export class Stage {
  readonly workflows: readonly Workflow[];
  readonly logs: LogEntry[] = [];
  readonly callbacks = new MadeCallbacks();
  /** Milliseconds since the epoch. */
  now: number;
  /** A client for code outside of any process. It outlives all of them. */
  readonly client: Client;
  readonly #options: StageOptions;
  readonly #stubs: StubUse;
  readonly #database: TestDatabase;
  readonly #namespace = `test-${++stages}`;
  readonly #determinism: Determinism | undefined;
  #process: Process;
  #failure: TestKitError | undefined;
  #isClosed = false;
  /** How many calls from outside are not answered yet. */
  #asked = 0;

  /** @throws TestKitError `unknown_workflow`, LayoverError `duplicate_workflow`, SetupError `package_missing` */
  static async open(options: StageOptions): Promise<Stage> {
    checkStubs(options.stubs, options.workflows);
    const database = await openTestDatabase();
    warm ??= Stage.#warmUp(database);
    await warm;
    const stage = new Stage(database, options);
    if (options.schedules.length > 0) await stage.#process.wake(); // it registers them
    return stage;
  }

  static async #warmUp(database: TestDatabase): Promise<void> {
    const stage = new Stage(database, {
      workflows: [warmUpWorkflow],
      schedules: [],
      stubs: {},
      onMissingStub: "run",
      now: 0,
      patienceMs: 0,
      checksDeterminism: false,
      wrap: (database) => database,
    });
    const run = await stage.ask((client) => client.start(warmUp));
    await stage.play();
    await run.signal("signal", undefined);
    for (const token of stage.callbacks.tokens())
      await stage.ask((client) => client.resolveCallback(token, undefined, { contract: warmUp }));
    await stage.advance(2 * 3_600_000);
    await Promise.all([run.get(), run.history()]);
    await stage.close();
  }

  private constructor(database: TestDatabase, options: StageOptions) {
    this.#database = database;
    this.#options = options;
    this.workflows = options.workflows;
    this.now = options.now;
    if (options.checksDeterminism) this.#determinism = new Determinism(options);
    this.#stubs = new StubUse({
      stubs: options.stubs,
      onMissingStub: options.onMissingStub,
      onMisspelt: (error) => {
        this.#failure ??= error;
      },
    });
    this.#process = this.#newProcess();
    this.client = this.#newClient();
  }

  /** Somebody outside asks something of the system. */
  async ask<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    const { client } = await this.#aliveProcess();
    return await question(client);
  }

  /** Carries out what is due now. Answers how many turns it began. */
  play(terms: Terms = {}): Promise<number> {
    return inUsualWorld(() => this.#play(terms));
  }

  async #play({ turns = Number.POSITIVE_INFINITY, mayHang = false }: Terms): Promise<number> {
    let begun = 0;
    for (let events = 0; events < mostAtOneInstant; events += 1) {
      const process = await this.#aliveProcess();
      await this.#rest(process);
      if (process.isDead) continue;
      this.#throwFailure();
      if (begun < turns) {
        if (process.timers.fire() || process.ring()) continue;
        if (process.beginTurn()) {
          begun += 1;
          continue;
        }
      }
      if (process.mayGoOn && (await this.#wait(process))) continue;
      if (process.isBusy && !mayHang)
        throw neverEnds(this.#options.patienceMs, process.bodies.size === 0 ? undefined : this.underWay);
      return begun;
    }
    throw new TestKitError("endless", `After ${mostAtOneInstant} events no time has passed yet.`, {
      hint: "Does a workflow loop for ever without a sleep?",
    });
  }

  /** Replays a run in other worlds, or all that have grown. @throws TestKitError `not_deterministic` */
  async checkDeterminism(runId?: string): Promise<void> {
    await this.#determinism?.check(this.#process.calls, runId);
  }

  /** Turns the clock, stopping at each instant at which something is due. */
  async advance(ms: number): Promise<void> {
    const until = this.now + ms;
    for (;;) {
      await this.play({ mayHang: true });
      const { next } = this.#process;
      if (next === undefined || next > until) break;
      this.now = Math.max(this.now, next);
    }
    this.now = until;
    await this.play({ mayHang: true });
  }

  crash(): void {
    this.#process.die();
  }

  async close(): Promise<void> {
    this.#process.die();
    this.#isClosed = true;
    while (this.#process.inFlight > 0) await macrotask();
  }

  /** What is under way and does not end, for people. */
  get underWay(): readonly string[] {
    return [...this.#process.bodies].map(
      ({ runId, path }) => `the body of step ${JSON.stringify(path)} of run ${runId}`,
    );
  }

  /** The process, or the one that takes over where it has died. */
  async #aliveProcess(): Promise<Process> {
    this.#throwIfClosed();
    if (this.#process.isDead) {
      this.#process = this.#newProcess();
      await this.#process.takeOver();
    }
    return this.#process;
  }

  #throwIfClosed(): void {
    if (!this.#isClosed) return;
    throw new TestKitError("closed", "This test engine is closed.", { hint: "Begin a new one by testEngine()." });
  }

  #newProcess(): Process {
    const { workflows, schedules, wrap } = this.#options;
    const namespace = this.#namespace;
    const seal = callbackSealer({ secrets, namespace, publicUrl });
    return new Process({
      workflows,
      schedules,
      stubs: this.#stubs,
      namespace,
      database: this.#database,
      wrap,
      time: () => this.now,
      // Half of the longest pause before each retry: jitter would have tests differ from time to time.
      random: () => 0.5,
      sealCallback: (ref) => {
        const sealed = seal(ref);
        this.callbacks.note(sealed.token, ref);
        return sealed;
      },
      openCallback: callbackOpener({ secrets, namespace }),
      onDemand: this.#determinism?.note,
      onLog: (entry) => this.logs.push(entry),
      onError: (error, doing) => {
        this.#failure ??= engineFailed(error, doing);
      },
      onMistake: ({ workflow, message }) => {
        this.#failure ??= new TestKitError("handler_mistake", `In workflow ${JSON.stringify(workflow)}, ${message}.`, {
          hint: "A deployment logs this as a warning and goes on.",
        });
      },
    });
  }

  /** Makes a client. What it arms and dispatches is kept by the process that is alive then, as a platform would do. */
  #newClient(): Client {
    const host = {
      now: () => this.now,
      monotonic: () => this.now,
      after: (ms: number, act: () => void) => this.#process.timers.after(ms, act),
    };
    const send = (...[text, parameters]: Parameters<Query>) =>
      this.#database.send({ text, parameters, now: this.now, isWanted: () => true });
    const database = Object.assign(send, { endpoint: this.#database.endpoint });
    const calls = makeCalls({
      query: wrappedBy(this.#options.wrap, database, (call) => this.#asking(call)),
      namespace: this.#namespace,
      alarm: async (instants) => (await this.#aliveProcess()).alarm(instants),
      host,
    });
    return new Client({
      calls,
      dispatch: async (turns, delayMs) => (await this.#aliveProcess()).dispatch(turns, delayMs),
      wake: async () => (await this.#aliveProcess()).wake(),
      openCallback: callbackOpener({ secrets, namespace: this.#namespace }),
      onEndAsked: async (runId) => await (await this.#aliveProcess().catch(() => undefined))?.tellEnd(runId),
      host,
    });
  }

  async #asking<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    this.#throwIfClosed();
    this.#asked += 1;
    try {
      return await call();
    } finally {
      this.#asked -= 1;
    }
  }

  /** Waits until every call is answered and every handler is at rest. */
  async #rest(process: Process): Promise<void> {
    do await macrotask();
    while (process.inFlight > 0 || this.#asked > 0);
  }

  /** Real time for what awaits something real. False: nothing came of it. */
  async #wait(process: Process): Promise<boolean> {
    const { progress } = process;
    const rounds = eagerRounds + Math.ceil(this.#options.patienceMs / roundMs);
    for (let round = 0; round < rounds; round += 1) {
      await (round < eagerRounds ? macrotask() : realPause(roundMs));
      if (process.progress !== progress || process.isDead) return true;
    }
    process.giveUp();
    return false;
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }
}
