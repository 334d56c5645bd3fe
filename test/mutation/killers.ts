/**
 * The killers that may find a mutant out, fastest first. The first one that fails has killed it. Tests that compare
 * texts or the schema's dump are left out: they would find any change.
 */
import { existsSync } from "node:fs";
import type { ModelKiller } from "./model-killer.ts";
import { isModelled, nearestTo } from "./nearest.ts";
import type { Mutant } from "./sql-mutants.ts";
import { byProgram, byVitest, type Workplace } from "./trials.ts";
import type { Verdict } from "./verdict.ts";
import { root } from "./workbench.ts";

export interface Bench extends Workplace {
  readonly model: ModelKiller;
}

export interface Killer {
  readonly name: string;
  /** Whether it takes no more than a second or so, and is asked even about an explained mutant. */
  readonly isQuick?: boolean;
  /** Why it cannot be asked here. */
  readonly missing?: string | undefined;
  readonly mayKill: (mutant: Mutant) => boolean;
  /** `test`: the file of tests that is asked alone. */
  readonly tryOn: (mutant: Mutant, original: string, bench: Bench, test?: string) => Promise<Verdict>;
}

const simulation = "test/simulation/main.ts";
const others = [
  ...["callbacks", "runs", "signals", "revocation", "bad-input"].map((name) => `test/http/${name}`),
  ...["keys", "list-due"].map((name) => `test/postgres/${name}`),
  ...["doctor", "runs"].map((name) => `test/cli/${name}`),
];

/** `simulated`: what the simulation is told besides the address of the database. */
export function killers(simulated: readonly string[]): Killer[] {
  const isOfSql = ({ file }: Mutant) => file.endsWith(".sql");
  const isOfEngine = (mutant: Mutant) => !isOfSql(mutant);
  const isPlayed = (mutant: Mutant) => isOfEngine(mutant) || isModelled(functionOf(mutant));
  const suite = (name: string, mayKill: Killer["mayKill"], filters: readonly string[]): Killer => ({
    name,
    mayKill,
    tryOn: (mutant, _, bench, test) => byVitest(mutant, test === undefined ? filters : [test], bench),
  });
  const isModelledSql = (mutant: Mutant) => isOfSql(mutant) && isPlayed(mutant);
  return [
    {
      name: "model",
      isQuick: true,
      mayKill: isModelledSql,
      tryOn: (mutant, original, { model }) => model.tryFewOn(mutant.mutated, original),
    },
    {
      name: "nearest",
      mayKill: (mutant) => nearestTo(functionOf(mutant)).length > 0,
      tryOn: (mutant, _, bench, test) =>
        byVitest(mutant, test === undefined ? nearestTo(functionOf(mutant)) : [test], bench),
    },
    {
      name: "more of the model",
      mayKill: isModelledSql,
      tryOn: (mutant, original, { model }) => model.tryAllOn(mutant.mutated, original),
    },
    suite("engine", () => true, ["test/engine", "test/client"]),
    suite("races", isOfSql, ["test/races"]),
    suite("others", isOfSql, others),
    suite("crash", isOfEngine, ["test/crash"]),
    suite("hosts", isOfEngine, ["test/platform/in-process", "test/platform/ticker"]),
    {
      name: "simulation",
      missing: existsSync(new URL(simulation, root)) ? undefined : `there is no ${simulation}`,
      mayKill: isPlayed,
      tryOn: (mutant, _, bench) => byProgram(mutant, [simulation, ...simulated], bench),
    },
  ];
}

/** Answers one killer that runs these tests alone, for use while somebody writes them. */
export function onlyTests(filters: readonly string[]): Killer[] {
  return [
    {
      name: "tests",
      isQuick: true,
      mayKill: () => true,
      tryOn: (mutant, _, bench, test) => byVitest(mutant, test === undefined ? filters : [test], bench),
    },
  ];
}

function functionOf({ id }: Mutant): string {
  return id.slice(0, id.indexOf(":"));
}
