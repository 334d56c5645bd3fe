/** One question that the benchmark asks of each of its contenders; one file each in `scenarios/`. */

import type { Contender, Engine } from "./contender.ts";
import type { Aim, Figures } from "./figures.ts";

/** An engine that is ready, and the means to measure it. */
export interface Bench<E extends Engine = Engine> {
  readonly engine: E;
  /** Carries out the work and answers what each of these steps cost. */
  measure(steps: number, work: () => Promise<void>): Promise<Figures>;
}

export interface Scenario<E extends Engine = Engine> {
  /** The letter by which `--only` names it. */
  readonly name: string;
  readonly title: string;
  /** The first is the bound that the others are compared with. */
  readonly contenders: readonly Contender<E>[];
  readonly aims: readonly Aim[];
  /** The name of the contender that is held to the aims. Default: layover. */
  readonly held?: string;
  /** How many connections each contender may open. Default: those of the whole benchmark. */
  readonly connections?: number;
  /** One round. `share` of the whole size: 1, or less to warm up. */
  takeRound(bench: Bench<E>, share: number): Promise<Figures>;
}
