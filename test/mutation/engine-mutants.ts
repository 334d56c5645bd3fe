/**
 * Mutants of TypeScript, by hand: each order of operations and each margin that the wake rule rests on (src/core/README.md),
 * undone. `find` stands in its file exactly once.
 */
import { readFileSync } from "node:fs";
import { ofCalls } from "./engine-mutants-calls.ts";
import { ofLeases } from "./engine-mutants-leases.ts";
import { ofTicks } from "./engine-mutants-ticks.ts";
import { ofTurns } from "./engine-mutants-turns.ts";
import type { Ordering } from "./orderings.ts";
import type { Mutant } from "./sql-mutants.ts";

export const orderings: readonly Ordering[] = [...ofCalls, ...ofTicks, ...ofTurns, ...ofLeases];

/** @throws Error where `find` does not stand in its file exactly once. */
export function engineMutants(root: URL): Mutant[] {
  return orderings.map(({ name, file, find, replace }) => {
    const text = readFileSync(new URL(file, root), "utf8");
    const [before = "", ...after] = text.split(find);
    if (after.length !== 1) throw new Error(`"${name}": what is to be changed stands ${after.length} times in ${file}`);
    const line = before.split("\n").length;
    const mutated = before + replace + after.join("");
    return { id: `engine: ${name}`, file, line, from: find.trim(), to: replace.trim() || "nothing", mutated };
  });
}
