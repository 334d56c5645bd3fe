/** Has happen what was planned, on a site; then sets everything up again. */
import { setTimeout as delay } from "node:timers/promises";
import { Chance } from "../engine/chance.ts";
import { type Disaster, plan } from "./plan.ts";
import type { Site } from "./site.ts";

export interface HavocOptions {
  readonly seed: number;
  /** How long things go wrong: longer, if by then not each kind of disaster has happened. */
  readonly chaosMs: number;
  readonly leaseMs: number;
  /** How many there are outside, each with one run at a time. */
  readonly people: number;
}

/**
 * How many records must have come since the last time, for each of those who are at work. On a machine that is slow today
 * as many disasters as on a fast one would let nothing ever be done.
 */
const progressBetween = { processes: 0.2, postgres: 2 } as const;
const deployMs = 1_500;

export class Havoc {
  readonly struck = { kill: 0, freeze: 0, stop: 0, crash: 0 };
  deploys = 0;
  /** What could not be set up again. */
  readonly failures: unknown[] = [];
  readonly #site: Site;
  readonly #options: HavocOptions;
  readonly #recorded: () => number;
  readonly #strikes = new Set<Promise<void>>();
  /** How many records must have come until the next one. */
  readonly #notBefore = { processes: 0, postgres: 0 };
  #isPostgresDown = false;

  /** `recorded`: how many records have come so far. */
  constructor(site: Site, options: HavocOptions, recorded: () => number) {
    this.#site = site;
    this.#options = options;
    this.#recorded = recorded;
  }

  /** How many connections were cut, by what was cut. */
  get cuts(): Readonly<Record<string, number>> {
    const made = this.#site.cutters.flatMap((cutter) => [...cutter.made]);
    const sums = Map.groupBy(made, ([what]) => what);
    return Object.fromEntries(
      [...sums].map(([what, counts]) => [what, counts.reduce((sum, [, count]) => sum + count, 0)]),
    );
  }

  get cutCount(): number {
    return Object.values(this.cuts).reduce((sum, count) => sum + count, 0);
  }

  /** Resolves when it was enough, and everything is up again. */
  async wreak(): Promise<void> {
    const { seed, chaosMs, leaseMs } = this.#options;
    const endsAt = performance.now() + chaosMs;
    for (const { inMs, disaster } of plan(new Chance(seed, 0), { berths: this.#site.berths.length, leaseMs })) {
      await delay(inMs);
      const isComplete = Object.values(this.struck).every((count) => count > 0) && this.cutCount > 0;
      if (performance.now() > endsAt && (isComplete || this.failures.length > 0)) break;
      const strike = this.#strike(disaster)
        .catch((error: unknown) => this.failures.push(error))
        .then(() => void this.#strikes.delete(strike));
      this.#strikes.add(strike);
    }
    await Promise.all(this.#strikes);
    for (const cutter of this.#site.cutters) cutter.disarm();
  }

  /** Replaces processes one after the other, as deploys do: each looks at all that is ready when it begins. */
  async deploy(isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number += 1) {
      await delay(deployMs);
      await this.#site.berths[number % this.#site.berths.length]?.replace();
      this.deploys += 1;
    }
  }

  async #strike(disaster: Disaster): Promise<void> {
    const { kind } = disaster;
    if (kind === "cut") {
      for (const cutter of this.#site.cutters) cutter.arm(disaster.cut, disaster.at);
    } else if (kind === "kill" || kind === "freeze") {
      const berth = this.#site.berths[disaster.berth];
      if (!berth?.isFree || !this.#isTimeFor("processes")) return;
      this.struck[kind] += 1;
      if (kind === "kill") await berth.kill(disaster.backInMs);
      else await Promise.all([berth.freeze(disaster.forMs), this.#overtake(disaster.overtaker)]);
    } else if (!this.#isPostgresDown && this.#isTimeFor("postgres")) {
      this.#isPostgresDown = true;
      const how = this.struck.stop < this.struck.crash ? "stop" : "crash";
      this.struck[how] += 1;
      await this.#site.interruptPostgres(how, disaster.backInMs);
      this.#isPostgresDown = false;
    }
  }

  /** As soon as the leases of who was frozen just now are over. */
  async #overtake(overtaker: number): Promise<void> {
    await delay(this.#options.leaseMs);
    const berth = this.#site.berths[overtaker];
    if (berth?.isFree) await berth.kill(0);
  }

  #isTimeFor(what: keyof typeof progressBetween): boolean {
    const recorded = this.#recorded();
    if (recorded < this.#notBefore[what]) return false;
    this.#notBefore[what] = recorded + 1 + progressBetween[what] * this.#options.people;
    return true;
  }
}
