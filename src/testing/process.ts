/**
 * One process of a test: a real engine and a real client, whose dispatches, alarms and timers wait here until the stage
 * carries them out. A process that died is never heard of again, and what it asked for is answered to nobody.
 */
import { Client } from "../client/over-postgres/client.ts";
import type { OpenCallback, SealCallback } from "../core/contract/callback.ts";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import type { Alarm, Dispatch, Query, TurnRef } from "../core/ports.ts";
import { Engine } from "../engine/engine.ts";
import type { LogEntry, Mistake } from "../engine/events.ts";
import type { EngineOptions } from "../engine/options.ts";
import { Registry } from "../engine/registry.ts";
import { type Calls, makeCalls } from "../postgres/calls.ts";
import type { TestDatabase } from "./database.ts";
import type { StubUse } from "./stub-use.ts";
import { type Body, withStubs } from "./stubs.ts";
import { macrotask, Timers } from "./timers.ts";
import { type Wrap, wrappedBy } from "./wrapping.ts";

export interface ProcessOptions {
  readonly workflows: readonly Workflow[];
  readonly schedules: readonly Schedule[];
  readonly stubs: StubUse;
  readonly database: TestDatabase;
  readonly wrap: Wrap;
  readonly namespace: string;
  readonly time: () => number;
  readonly random: () => number;
  readonly sealCallback: SealCallback;
  readonly openCallback: OpenCallback;
  readonly onLog: (entry: LogEntry) => void;
  readonly onError: (error: unknown, doing: string) => void;
  readonly onMistake: (mistake: Mistake) => void;
  readonly onDemand: EngineOptions["onDemand"];
}

/** A test that lets months pass still looks at what ended at their beginning. */
const forEver = 1_000 * 365 * 86_400_000;

/** A set of turns or a tick that is under way. */
interface Work {
  /** Whether it had time enough to end, and did not. */
  isStuck: boolean;
}

export class Process {
  readonly client: Client;
  readonly calls: Calls;
  readonly alarm: Alarm;
  readonly dispatch: Dispatch;
  readonly wake: () => Promise<void>;
  readonly timers: Timers;
  readonly bodies = new Set<Body>();
  isDead = false;
  /** Calls of the database and its store that are not answered yet, and handlers that were not given their macrotask. */
  inFlight = 0;
  /** Grows with all that happens here. */
  progress = 0;
  readonly #engine: Engine;
  readonly #time: () => number;
  readonly #onError: (error: unknown, doing: string) => void;
  readonly #alarms = new Set<number>();
  readonly #underWay = new Set<Work>();
  #deliveries: { readonly turn: TurnRef; readonly at: number }[] = [];

  constructor(options: ProcessOptions) {
    const { workflows, stubs, database, wrap, namespace, time, random } = options;
    const { sealCallback, openCallback, onLog, onError } = options;
    this.#time = time;
    this.#onError = (error, doing) => this.isDead || onError(error, doing);
    this.timers = new Timers(time);
    const send = (...[text, parameters]: Parameters<Query>) =>
      database.send({ text, parameters, now: time(), isWanted: () => !this.isDead });
    const query = wrappedBy(wrap, Object.assign(send, { endpoint: database.endpoint }), (call) => this.#outside(call));
    this.alarm = async (instants) => {
      for (const { at } of instants) this.#alarms.add(at);
    };
    this.dispatch = async (turns, delayMs) => {
      const at = Math.ceil(time() + Math.max(0, delayMs));
      this.#deliveries.push(...turns.map((turn) => ({ turn, at })));
    };
    const { alarm, dispatch, timers: host } = this;
    this.calls = makeCalls({ query, namespace, alarm, host });
    this.#engine = new Engine({
      calls: this.calls,
      dispatch,
      registry: new Registry(
        workflows.map((workflow) => withStubs(workflow, stubs, this.bodies)),
        options.schedules,
      ),
      // Whoever declares schedules has a name. Without any, each engine is spared its note.
      deployment: options.schedules.length === 0 ? undefined : { name: "test", id: "test" },
      sealCallback,
      host,
      random,
      keepMs: forEver,
      keepFailedMs: forEver,
      atRest: () => this.#outside(macrotask),
      onLog: (entry) => this.isDead || onLog(entry),
      onError: this.#onError,
      onDemand: options.onDemand,
      onMistake: (mistake) => this.isDead || options.onMistake(mistake),
    });
    this.wake = async () => void (await this.#engine.tick());
    this.client = new Client({
      calls: this.calls,
      dispatch,
      wake: this.wake,
      openCallback,
      onEndAsked: this.#engine.tellEnd,
      host,
    });
  }

  /** Tells the bodies of a run that it was asked to end. */
  tellEnd(runId: string): Promise<void> {
    return this.#engine.tellEnd(runId);
  }

  /** Begins where another one has died. Nobody else uses this database, so whoever held a lease is dead. */
  async takeOver(): Promise<void> {
    await this.calls.voidLeases();
    await this.#engine.tick({ isFirst: true, isExclusive: true, looksAhead: true });
  }

  die(): void {
    this.isDead = true;
    this.timers.clear();
  }

  /** Begins one turn that is due. False: none is. */
  beginTurn(): boolean {
    const due = this.#deliveries.find(({ at }) => at <= this.#time());
    if (due === undefined) return false;
    this.#deliveries = this.#deliveries.filter((other) => other !== due);
    this.#addWork(this.#engine.carryOut([due.turn]));
    return true;
  }

  /** Rings one alarm that is due. False: none is. */
  ring(): boolean {
    const due = [...this.#alarms].filter((at) => at <= this.#time());
    if (due.length === 0) return false;
    for (const at of due) this.#alarms.delete(at);
    this.#addWork(this.#engine.tick());
    return true;
  }

  /** When something is due next, if anything is. */
  get next(): number | undefined {
    const instants = [...this.#alarms, ...this.#deliveries.map(({ at }) => at), this.timers.next ?? []].flat();
    return instants.length === 0 ? undefined : instants.reduce((first, at) => Math.min(first, at));
  }

  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** Whether something is under way that may end by itself. */
  get mayGoOn(): boolean {
    const hanging = [...this.bodies].filter(({ isHanging }) => isHanging).length;
    return [...this.#underWay].filter(({ isStuck }) => !isStuck).length > hanging;
  }

  giveUp(): void {
    for (const work of this.#underWay) work.isStuck = true;
  }

  #addWork(work: Promise<unknown>): void {
    const begun = { isStuck: false };
    this.#underWay.add(begun);
    const noteEnd = () => {
      this.progress += 1;
      this.#underWay.delete(begun);
    };
    work.then(noteEnd, (error: unknown) => {
      noteEnd();
      this.#onError(error, "ticking"); // carrying out a turn never rejects
    });
  }

  /** A call that leaves the process, whose answer reaches it only while it lives. */
  #outside<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.isDead) return;
      this.inFlight += 1;
      const settle = (tell: () => void) => {
        this.inFlight -= 1;
        this.progress += 1;
        if (!this.isDead) tell();
      };
      call().then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}
