/**
 * The killers that may find a mutant out, fastest first. The first one that fails has killed it. Tests that compare
 * texts or the schema's dump are left out: they would find any change.
 */
import { existsSync, readFileSync } from "node:fs";
import type { ModelKiller } from "./model-killer.ts";
import { isModelled, nearestTo } from "./nearest.ts";
import { functionOf, isOfSql, type Mutant } from "./sql-mutants.ts";
import { byProgram, byVitest, type Verdicts, type Workplace } from "./trials.ts";
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
  /** Tries mutants of one function, or one of the engine. Answers those that it has found out. */
  readonly tryOn: (mutants: readonly Mutant[], bench: Bench) => Promise<Verdicts>;
}

const simulation = "test/simulation/main.ts";
const others = [
  ...["callbacks", "runs", "signals", "revocation", "bad-input"].map((name) => `test/http/${name}`),
  ...["keys", "list-due"].map((name) => `test/postgres/${name}`),
  ...["doctor", "runs"].map((name) => `test/cli/${name}`),
];

/** `simulated`: what the simulation is told besides the address of the database. */
export function killers(simulated: readonly string[]): Killer[] {
  const isOfEngine = (mutant: Mutant) => !isOfSql(mutant);
  const isPlayed = (mutant: Mutant) => isOfEngine(mutant) || isModelled(functionOf(mutant));
  const suite = (name: string, mayKill: Killer["mayKill"], filters: readonly string[]): Killer => ({
    name,
    mayKill,
    tryOn: (mutants, bench) => byVitest(mutants, filters, bench),
  });
  const isModelledSql = (mutant: Mutant) => isOfSql(mutant) && isPlayed(mutant);
  return [
    {
      name: "model",
      isQuick: true,
      mayKill: isModelledSql,
      tryOn: (mutants, { model }) => eachAlone(mutants, (mutant) => model.tryFewOn(mutant, sqlOf(mutant))),
    },
    {
      name: "nearest",
      mayKill: (mutant) => nearestTo(functionOf(mutant)).length > 0,
      tryOn: (mutants, bench) => {
        const [first] = mutants;
        return byVitest(mutants, first === undefined ? [] : nearestTo(functionOf(first)), bench);
      },
    },
    {
      name: "more of the model",
      mayKill: isModelledSql,
      tryOn: (mutants, { model }) => eachAlone(mutants, (mutant) => model.tryAllOn(mutant, sqlOf(mutant))),
    },
    suite("engine", () => true, ["test/engine", "test/client", "test/postgres/call-faults"]),
    suite("races", isOfSql, ["test/races"]),
    suite("others", isOfSql, others),
    suite("crash", isOfEngine, ["test/crash"]),
    suite("hosts", isOfEngine, ["test/platform/in-process", "test/platform/ticker"]),
    {
      name: "simulation",
      missing: existsSync(new URL(simulation, root)) ? undefined : `there is no ${simulation}`,
      mayKill: isPlayed,
      tryOn: (mutants, bench) => eachAlone(mutants, (mutant) => byProgram(mutant, [simulation, ...simulated], bench)),
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
      tryOn: (mutants, bench) => byVitest(mutants, filters, bench),
    },
  ];
}

/** @throws Error if the killer finds something without any mutant: it would kill all of them */
async function eachAlone(mutants: readonly Mutant[], tryOn: (mutant: Mutant) => Promise<Verdict>): Promise<Verdicts> {
  const verdicts = new Map<Mutant, Verdict>();
  for (const mutant of mutants) {
    const verdict = await tryOn(mutant);
    if (verdict.kind === "survived") continue;
    if (verdicts.size === 0) {
      const { kind, why } = await tryOn({ ...mutant, mutated: sqlOf(mutant) });
      if (kind !== "survived") throw new Error(`a killer finds something without any mutant: ${why}`);
    }
    verdicts.set(mutant, verdict);
  }
  return verdicts;
}

/** The text of the mutant's file as it is. */
function sqlOf({ file }: Mutant): string {
  return readFileSync(new URL(file, root), "utf8");
}
