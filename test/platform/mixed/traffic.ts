/**
 * Runs on hosts that begin and go while a test lasts: naps that are started, signalled and carried out as the clock of all hosts is
 * turned. Each run is held to its instant, and each of its steps to be done once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { TestDatabase } from "../../postgres/database.ts";
import { openWorld, type World } from "../world.ts";
import { askingAt } from "./asking.ts";
import { beginFunctions } from "./functions-host.ts";
import type { Mortal, OneHost } from "./one-host.ts";
import { beginProcess } from "./process-host.ts";
import { TurnedClock } from "./turned-clock.ts";
import { beginWorker } from "./worker-host.ts";
import { type Build, type Host, versionIn } from "./workflows.ts";

const minuteMs = 60_000;
const begin = { cloudflare: beginWorker, aws: beginFunctions, node: beginProcess };
/** The clock is turned by so much at once. What is due in between comes at its end. What a busy machine has not begun then, comes at the next. */
const stepMs = 15_000;
/** How late a run may go on, by how much the clock was turned: how long this machine takes for its work says nothing. */
const latestMs = 2 * minuteMs + 2 * stepMs;
const atOnce = 5;
/** How long a host may take to notice that a run is due, by the clock on the wall. */
const noticeMs = 5_000;
/** How long nobody may have been at work before the clock is turned on. */
const lookMs = 100;

export interface Planned {
  readonly runId: string;
  readonly build: Build;
  /** When it may go on, by the turned clock. Undefined: nobody has sent its signal yet. */
  dueAt: number | undefined;
}

/** A run that is over: where and when it was carried out. */
export interface Ended {
  /** Where its steps were carried out: `before on aws`. */
  readonly places: readonly string[];
  /** When its last step was carried out, by the turned clock. */
  readonly at: number;
}

/** Hosts that begin and go while a test lasts, and runs on them. */
export class Traffic {
  readonly runs: Planned[] = [];
  readonly #pool: TestDatabase["pool"];
  readonly #world: World;
  readonly #mortal: Mortal;
  readonly #begun = new Map<Host, OneHost>();
  /** The builds that each host has, two of them in a gradual release. */
  readonly #builds = new Map<Host, readonly Build[]>();
  readonly #asking = askingAt((host) => this.#hostOf(host).url);

  private constructor(pool: TestDatabase["pool"], world: World, mortal: Mortal) {
    this.#pool = pool;
    this.#world = world;
    this.#mortal = mortal;
  }

  /** Call it within the test. `database`: one of the test's own. */
  static async open(database: TestDatabase): Promise<Traffic> {
    const databaseClock = await database.turnClock();
    await databaseClock.set(Date.now());
    await databaseClock.goOn();
    const clock = new TurnedClock();
    clock.follow(async (ms) => await databaseClock.advance(ms));
    const world = await openWorld(() => clock.now());
    onTestFinished(() => world.close());
    const mortal: Mortal = { databaseUrl: database.url, clock, fateOf: () => "passes", die: () => {} };
    return new Traffic(database.pool, world, mortal);
  }

  now(): number {
    return this.#mortal.clock.now();
  }

  async deploy(host: Host): Promise<void> {
    this.#begun.set(host, await begin[host](this.#mortal));
    this.#builds.set(host, ["first"]);
    await this.#hostOf(host).deployed();
  }

  /** Begins a gradual release: the build that is there stays beside this one. */
  async share(host: Host, build: Build): Promise<void> {
    await this.#hostOf(host).share(build);
    this.#builds.set(host, [...(this.#builds.get(host) ?? []), build]);
  }

  async release(host: Host, build: Build): Promise<void> {
    await this.#hostOf(host).release(build);
    this.#builds.set(host, [build]);
    await this.#hostOf(host).deployed();
    await this.#settle(); // what the build before had at work goes on to its end
  }

  takeAway(host: Host): void {
    this.#hostOf(host).die();
    this.#begun.delete(host);
    this.#builds.delete(host);
  }

  async wake(host: Host): Promise<void> {
    await this.#asking.wake(host);
  }

  /** Starts runs that sleep for up to so many minutes. Every tenth waits for a signal instead. */
  async startMany(host: Host, count: number, minutes: number, build: Build = "first"): Promise<void> {
    await inTurns(count, async (number) => {
      const afterMs = minuteMs + (number / count) * minutes * minuteMs;
      const dueAt = number % 10 === 0 ? undefined : Math.round(this.now() + afterMs);
      const id = crypto.randomUUID();
      const input = { world: this.#world.url, until: dueAt };
      const runId = await insist(() => this.#asking.start(host, "nap", input, { id, version: versionIn(build) }));
      this.runs.push({ runId, build, dueAt });
    });
  }

  /** Sends signals to so many runs that wait for one. */
  async signalSome(host: Host, count: number): Promise<void> {
    const waiting = this.runs.filter(({ dueAt }) => dueAt === undefined).slice(0, count);
    await inTurns(waiting.length, async (number) => {
      const run = waiting[number];
      if (run === undefined) return;
      run.dueAt = this.now();
      await insist(() => this.#asking.signal(host, run.runId, "go", 1, "once"));
    });
  }

  /** Lets minutes pass, a few seconds at a time: what a host has at work goes on meanwhile, as its lease is a minute. */
  async pass(minutes = 1): Promise<void> {
    for (let passed = 0; passed < minutes * minuteMs; passed += stepMs) {
      await this.#mortal.clock.turn(stepMs);
      await this.#settle();
    }
  }

  /** Waits until nobody is at work. A busy machine may take a moment to notice what has become due. */
  async #settle(): Promise<void> {
    const { asked } = this.#world;
    const began = performance.now();
    const mayBegin = async () => performance.now() < began + noticeMs && (await this.#justDue()) > 0;
    let before = -1;
    while (before < asked.length || this.#isAtWork() || (await this.#leases()) > 0 || (await mayBegin())) {
      before = asked.length;
      await delay(lookMs);
    }
  }

  /** How many runs of a build have done their last step. */
  endedOf(build: Build): number {
    const afterOf = this.#instantsOf("after");
    return this.runs.filter((run) => run.build === build && afterOf.has(run.runId)).length;
  }

  /**
   * Holds that each run is completed, that each step was done once, and no last step too late. Answers what became of each.
   * `host`: one that is asked. `away`: between these instants nobody had the code of the next build's runs.
   */
  async judge(host: Host, away = { from: 0, until: 0 }): Promise<ReadonlyMap<Planned, Ended>> {
    const { clock } = this.#mortal;
    const afterOf = this.#instantsOf("after");
    const ended = new Map<Planned, Ended>();
    for (const run of this.runs) {
      const { runId, build, dueAt = 0 } = run;
      const { status, result } = await insist(() => this.#asking.get(host, runId));
      expect({ runId, status }, this.#output()).toEqual({ runId, status: "completed" });
      const at = afterOf.get(runId) ?? Number.POSITIVE_INFINITY;
      const held = build === "next" ? clock.turnedBetween(Math.max(dueAt, away.from), Math.min(at, away.until)) : 0;
      expect(clock.turnedBetween(dueAt, at) - held).toBeLessThanOrEqual(latestMs);
      ended.set(run, { places: Array.isArray(result) ? result.map(String) : [], at });
    }
    for (const step of ["before", "after"])
      expect(this.#world.asked.filter((path) => path === step)).toHaveLength(this.runs.length);
    return ended;
  }

  /** When this step of each run was carried out. */
  #instantsOf(step: string): ReadonlyMap<string, number> {
    const { asked, keys, instants } = this.#world;
    return new Map(
      asked.flatMap((path, index) => (path === step ? [[keys[index] ?? "", instants[index] ?? 0] as const] : [])),
    );
  }

  #hostOf(host: Host): OneHost {
    const found = this.#begun.get(host);
    if (found === undefined) throw new Error(`${host} has not begun`);
    return found;
  }

  #isAtWork(): boolean {
    return [...this.#begun.values()].some((host) => host.isAtWork());
  }

  /** How many runs are carried out. Of a host that was killed, that is so until its lease is over. */
  async #leases(): Promise<number> {
    const { rowCount } = await this.#pool.query(
      "select from layover.run_state where status = 'running' and leased_until > layover.now()",
    );
    return rowCount ?? 0;
  }

  /** How many runs whose code somebody has have become due since the clock was turned the last time. */
  async #justDue(): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `select from layover.run_state join layover.run on id = run_id
       where status <> 'running' and due_at > to_timestamp($1) and due_at <= to_timestamp($2) and version = any($3)`,
      [(this.now() - stepMs) / 1_000, this.now() / 1_000, [...this.#builds.values()].flat().map(versionIn)],
    );
    return rowCount ?? 0;
  }

  #output(): string {
    return [...this.#begun.values()].map((host) => host.output()).join("\n");
  }
}

/** Asks again if the connection breaks, or if the build that was met does not have the version. What is asked for happens once. */
async function insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let left = 10; ; left -= 1) {
    try {
      return await ask();
    } catch (error) {
      const isOtherBuild = error instanceof Error && /was answered 404.*unknown_workflow/.test(error.message);
      if (left === 0 || !(error instanceof TypeError || isOtherBuild)) throw error;
    }
  }
}

/** Does something so many times, a few at a time. */
async function inTurns(count: number, act: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const go = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, go));
}
