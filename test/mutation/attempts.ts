/** Tries killers on mutants, one after the other, until one has killed it; several mutants side by side. */
import { readFileSync } from "node:fs";
import type { Bench, Killer } from "./killers.ts";
import { ModelKiller } from "./model-killer.ts";
import type { Mutant } from "./sql-mutants.ts";
import { Tests } from "./tests.ts";
import type { Verdict } from "./verdict.ts";
import { root, Workbench } from "./workbench.ts";

export interface Attempted {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** Name of the killer that found the mutant out. Undefined: none did. */
  readonly by: string | undefined;
  readonly ms: number;
}

export interface AttemptOptions {
  readonly serverUrl: string;
  readonly killers: readonly Killer[];
  readonly jobs: number;
  /** How many sequences the model plays. */
  readonly sequences: number;
  /** Whether a mutant is explained. Only quick killers are asked whether they can kill it all the same. */
  readonly isExplained: (mutant: Mutant) => boolean;
  readonly onAttempted: (attempted: Attempted) => void;
}

export async function attempt(mutants: readonly Mutant[], options: AttemptOptions): Promise<void> {
  const waiting = [...mutants];
  const sound = new Map<string, Promise<Verdict>>();
  const work = async () => {
    const workbench = new Workbench();
    const model = await ModelKiller.begin(options.serverUrl, options.sequences);
    try {
      const { serverUrl } = options;
      const bench = { workbench, model, serverUrl, tests: new Tests(workbench, serverUrl) };
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const asked = options.isExplained(next) ? options.killers.filter(({ isQuick }) => isQuick) : options.killers;
        options.onAttempted(await attemptOne(next, asked, bench, sound));
      }
    } finally {
      await model.end();
      workbench.remove();
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
}

async function attemptOne(
  mutant: Mutant,
  killers: readonly Killer[],
  bench: Bench,
  sound: Map<string, Promise<Verdict>>,
): Promise<Attempted> {
  const began = performance.now();
  const original = readFileSync(new URL(mutant.file, root), "utf8");
  const ms = () => Math.round(performance.now() - began);
  for (const killer of killers) {
    if (!killer.mayKill(mutant)) continue;
    const verdict = await killer.tryOn(mutant, original, bench);
    if (verdict.kind === "survived") continue;
    // A killer that fails without any mutant kills all of them.
    const { test } = verdict;
    const name = test ?? killer.name;
    const unchanged = sound.get(name) ?? killer.tryOn({ ...mutant, mutated: original }, original, bench, test);
    sound.set(name, unchanged);
    const { kind, why } = await unchanged;
    if (kind !== "survived") throw new Error(`${name} fails without any mutant: ${why}`);
    return { mutant, verdict, by: killer.name, ms: ms() };
  }
  return { mutant, verdict: { kind: "survived" }, by: undefined, ms: ms() };
}
