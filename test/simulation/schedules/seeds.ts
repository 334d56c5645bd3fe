/** Plays seeds of scenarios with schedules: one seed is one scenario, always the same. A failing one is made small. */
import fc from "fast-check";
import type { Site } from "../site.ts";
import { playSchedules, type Report } from "./play.ts";
import { type Scenario, scenariosOf } from "./scenario.ts";

export interface SeedOptions {
  /** How long the scenarios go on. */
  readonly days: number;
  readonly onLine?: ((line: string) => void) | undefined;
}

const longestShrinkMs = 60_000;

export async function playSeed(site: Site, seed: number, { days, onLine }: SeedOptions): Promise<Report> {
  const [scenario] = fc.sample(scenariosOf(days), { seed, numRuns: 1 });
  if (scenario === undefined) throw new Error(`seed ${seed} draws nothing`);
  onLine?.(describeScenario(scenario));
  return await playSchedules(site, scenario, onLine);
}

/** Answers the smallest scenario found that fails, and its story. */
export async function shrinkSeed(site: Site, seed: number, { days }: SeedOptions): Promise<readonly string[]> {
  let underWay: Promise<Report> | undefined;
  const holds = async (drawn: Scenario): Promise<boolean> => {
    underWay = playSchedules(site, drawn);
    return (await underWay).wrongs.length === 0;
  };
  const limit = { interruptAfterTimeLimit: longestShrinkMs, markInterruptAsFailure: false };
  const { counterexample } = await fc.check(fc.asyncProperty(scenariosOf(days), holds), { seed, numRuns: 1, ...limit });
  await underWay; // what is interrupted goes on, and a second world beside it would share its database
  const smallest = counterexample?.[0];
  if (smallest === undefined) return ["Played again it did not fail: something in it is not always the same."];
  const lines = [describeScenario(smallest)];
  await playSchedules(site, smallest, (line) => lines.push(line));
  return lines;
}

function describeScenario({ acts, schedules, ...rest }: Scenario): string {
  return [rest, ...schedules, ...acts].map((part) => JSON.stringify(part)).join("\n");
}
