/** One question that the benchmark asks of each of its contenders; one file each in `scenarios/`. */

import type { Contender, Engine } from "./contender.ts";
import type { Aim, Figures } from "./figures.ts";

/** An engine that is ready, and the means to measure it. */
export interface Bench {
  readonly engine: Engine;
  /** Carries out the work and answers what each of these steps cost. */
  measure(steps: number, work: () => Promise<void>): Promise<Figures>;
}

export interface Scenario {
  /** The letter by which `--only` names it. */
  readonly name: string;
  readonly title: string;
  /** The first is the bound that the others are compared with. */
  readonly contenders: readonly Contender[];
  readonly aims: readonly Aim[];
  /** One round. `share` of the whole size: 1, or less to warm up. */
  takeRound(bench: Bench, share: number): Promise<Figures>;
}
