/** Tries killers on mutants, one after the other, until one has killed it: batches of mutants of one function, several side by side. */
import type { SqlFunction } from "../../src/postgres/sql-files.ts";
import type { Bench, Killer } from "./killers.ts";
import { ModelKiller } from "./model-killer.ts";
import { Reach } from "./reach.ts";
import { functionOf, isOfSql, type Mutant } from "./sql-mutants.ts";
import { Tests } from "./tests.ts";
import { ownTemplate } from "./trials.ts";
import type { Verdict } from "./verdict.ts";
import { Workbench } from "./workbench.ts";

export interface Attempted {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** Name of the killer that found the mutant out. Undefined: none did. */
  readonly by: string | undefined;
}

export interface AttemptOptions {
  readonly serverUrl: string;
  readonly functions: readonly SqlFunction[];
  readonly killers: readonly Killer[];
  readonly jobs: number;
  /** How many sequences the model plays. */
  readonly sequences: number;
  /** Whether a mutant is explained. Only quick killers are asked whether they can kill it all the same. */
  readonly isExplained: (mutant: Mutant) => boolean;
  readonly onAttempted: (attempted: Attempted) => void;
}

/** So many templates of databases lie side by side, in memory: some 8 MB each. */
const batchSize = 24;

export async function attempt(mutants: readonly Mutant[], options: AttemptOptions): Promise<void> {
  const { serverUrl, functions } = options;
  const waiting = batchesOf(mutants);
  const reach = new Reach(functions, ownTemplate);
  const asked: Bench["asked"] = new WeakMap();
  const work = async () => {
    const workbench = new Workbench();
    const model = await ModelKiller.begin(serverUrl, functions, options.sequences);
    try {
      const tests = new Tests(workbench, { serverUrl, own: ownTemplate });
      const bench = { workbench, model, serverUrl, reach, asked, tests };
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        await attemptBatch(next, bench, options);
    } finally {
      await model.end();
      workbench.remove();
    }
  };
  await Reach.count(serverUrl, true);
  try {
    await Promise.all(Array.from({ length: options.jobs }, work));
  } finally {
    await Reach.count(serverUrl, false);
  }
}

/** Each of one function. Of the engine, one by one: each takes a loading of the tests. */
function batchesOf(mutants: readonly Mutant[]): (readonly Mutant[])[] {
  const batches: Mutant[][] = [];
  for (const mutant of mutants) {
    const last = batches.at(-1);
    const isAlike = last?.[0] !== undefined && functionOf(last[0]) === functionOf(mutant) && isOfSql(mutant);
    if (last !== undefined && isAlike && last.length < batchSize) last.push(mutant);
    else batches.push([mutant]);
  }
  return batches;
}

async function attemptBatch(
  batch: readonly Mutant[],
  bench: Bench,
  { killers, isExplained, onAttempted }: AttemptOptions,
): Promise<void> {
  let left = batch;
  for (const { name, isQuick, mayKill, tryOn } of killers) {
    const tried = left.filter((mutant) => mayKill(mutant) && (isQuick || !isExplained(mutant)));
    const verdicts = tried.length === 0 ? new Map<Mutant, Verdict>() : await tryOn(tried, bench);
    for (const [mutant, verdict] of verdicts) {
      if (verdict.kind !== "survived") onAttempted({ mutant, verdict, by: name });
    }
    left = left.filter((mutant) => (verdicts.get(mutant)?.kind ?? "survived") === "survived");
  }
  for (const mutant of left) onAttempted({ mutant, verdict: { kind: "survived" }, by: undefined });
}
