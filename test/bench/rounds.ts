/**
 * Takes a scenario's rounds. The contenders take turns, and each round another one begins, so that
 * whatever drifts on the machine (its clock, its disk, its neighbours) drifts for all of them.
 */

import type { Engine } from "./contender.ts";
import { type Figures, figures as labels, medians, ratios } from "./figures.ts";
import type { Meter } from "./meter.ts";
import type { Bench, Scenario } from "./scenario.ts";

const WARM_UP_SHARE = 0.1;

export interface Standing {
  readonly contender: string;
  readonly medians: Figures;
  /** Medians of the ratios to the bound, each taken within one round. Empty for the bound. */
  readonly ratios: Figures;
  readonly rounds: readonly Figures[];
}

export interface Result {
  readonly scenario: string;
  readonly title: string;
  readonly standings: readonly Standing[];
}

interface Options {
  readonly rounds: number;
  /** How many connections each contender may open, and so how many turns are in flight. */
  readonly connections: number;
  /**
   * What each database has carried out before its first round. A plan made over nearly empty tables stays in
   * use while they grow under one long run. (Medians of the bound that keeps histories, last hundred of 3,000
   * steps to first: 1.18 after one run of one step, 1.00 after 500 runs of 10.)
   */
  readonly seasoning: { readonly runs: number; readonly steps: number };
  readonly report: (line: string) => void;
}

interface Entrant<E extends Engine> {
  readonly contender: string;
  readonly database: string;
  readonly engine: E;
  readonly rounds: Figures[];
}

export async function takeRounds<E extends Engine>(
  scenario: Scenario<E>,
  meter: Meter,
  given: Options,
): Promise<Result> {
  const options = { ...given, connections: scenario.connections ?? given.connections };
  const entrants: Entrant<E>[] = [];
  try {
    for (const [place, contender] of scenario.contenders.entries()) {
      const database = `bench_${place}`;
      const url = await meter.createDatabase(database);
      const engine = await contender.prepare({ url, connections: options.connections });
      entrants.push({ contender: contender.name, database, engine, rounds: [] });
    }
    for (const entrant of entrants) {
      await carryOutUnmeasured(entrant.engine, options.seasoning);
      await takeRound(scenario, meter, entrant, WARM_UP_SHARE, options);
    }

    for (let round = 0; round < options.rounds; round++) {
      for (const entrant of rotate(entrants, round)) {
        const figures = await takeRound(scenario, meter, entrant, 1, options);
        entrant.rounds.push(figures);
        options.report(
          `(${scenario.name}) round ${round + 1}/${options.rounds}, ${entrant.contender}: ${mainFigure(figures)}`,
        );
      }
    }
  } finally {
    for (const { engine, database } of entrants) {
      await engine.close();
      await meter.dropDatabase(database);
    }
  }
  return { scenario: scenario.name, title: scenario.title, standings: compare(entrants) };
}

async function takeRound<E extends Engine>(
  scenario: Scenario<E>,
  meter: Meter,
  { engine, database }: Entrant<E>,
  share: number,
  { connections }: Options,
): Promise<Figures> {
  await meter.tidy(database);
  // Tidying voided every connection's plans; without this, making them again slows the first hundred steps.
  await carryOutUnmeasured(engine, { runs: connections, steps: 10 });
  const bench: Bench<E> = { engine, measure: (steps, work) => meter.measure(database, steps, work) };
  return scenario.takeRound(bench, share);
}

async function carryOutUnmeasured(engine: Engine, work: Options["seasoning"]): Promise<void> {
  await engine.carryOut(await engine.start(work), (step) => step);
}

function mainFigure(figures: Figures): string {
  const name = (["stepsPerSecond", "allEndedMs", "endP50Ms"] as const).find((key) => figures[key] !== undefined);
  return name === undefined ? "measured" : `${figures[name]?.toFixed(labels[name].digits)} ${labels[name].label}`;
}

function compare(entrants: readonly Entrant<Engine>[]): readonly Standing[] {
  const bound = entrants[0]?.rounds ?? [];
  return entrants.map(({ contender, rounds }, place) => ({
    contender,
    medians: medians(rounds),
    ratios: place === 0 ? {} : medians(rounds.map((figures, round) => ratios(figures, bound[round] ?? {}))),
    rounds,
  }));
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
